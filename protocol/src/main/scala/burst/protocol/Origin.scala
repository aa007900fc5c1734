package burst.protocol

import io.circe.Codec

/** Where a flare comes from: the id of the request that started it, and the request's span if traces are on.
  */
final case class Origin(transaction: String, trace: Option[TraceContext] = None) derives Codec.AsObject:

  /** The span of the flare with this id; whoever runs the flare next knows the span by that id. */
  def ofFlare(id: FlareId): Option[TraceContext] = trace.map(_.at(Origin.spanOf(id)))

object Origin:
  /** The id is random, and neither half of it is zero: the first holds the UUID's version. */
  private def spanOf(id: FlareId): String = id.value.take(16)
