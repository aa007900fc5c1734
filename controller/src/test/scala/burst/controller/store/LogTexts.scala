package burst.controller.store

import burst.controller.flare.LogText
import burst.protocol.FlareId

extension (store: FlareStore)
  /** Reads a whole log. */
  def logTexts(id: FlareId): Vector[LogText] =
    val extent = store.logExtent(id)
    Vector.unfold(extent.from)(from =>
      Option.when(from < extent.until):
        val part = store.logPart(id, from, extent.until).getOrElse(throw AssertionError("a log has a hole"))
        (part.texts, part.next)
    ).flatten
