package burst.protocol

import io.circe.Codec

/** Where a flare comes from: the id of the request that it was begun by, and the span of that, where traces
  * are on.
  */
final case class Origin(transaction: String, trace: Option[TraceContext] = None) derives Codec.AsObject:

  /** The span of the flare with this id: it is known by that to whoever runs the flare next. */
  def ofFlare(id: FlareId): Option[TraceContext] = trace.map(_.at(Origin.spanOf(id)))

object Origin:
  /** An id is random, and no half of one is zero: its version stands in the first. */
  private def spanOf(id: FlareId): String = id.value.take(16)
