package burst.node.traces

import burst.protocol.{Failure, FailureKind, Timestamp, TraceContext}
import io.circe.syntax.*
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.trace.SpanKind

/** A part of a trace that is over. One that ends before it began, as clocks can make it seem, has taken no
  * time.
  *
  * @param parent
  *   the span of the same trace that this is a part of
  * @param error
  *   the kind of failure that it ended with, if any
  */
final case class EndedSpan(
    context: TraceContext,
    parent: Option[String],
    name: String,
    start: Timestamp,
    end: Timestamp,
    attributes: Attributes = Attributes.empty,
    error: Option[String] = None,
    kind: SpanKind = SpanKind.INTERNAL
)

object EndedSpan:
  /** A failure as shown in spans. Its message is the user's, and may contain anything: it is left out. */
  def error(failure: Failure): String = error(failure.kind)
  def error(kind: FailureKind): String = kind.asJson.asString.getOrElse("")
