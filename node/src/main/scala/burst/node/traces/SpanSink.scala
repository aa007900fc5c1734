package burst.node.traces

import burst.protocol.TraceContext
import io.opentelemetry.sdk.resources.Resource
import io.opentelemetry.sdk.trace.{IdGenerator, SpanProcessor}

/** Where the spans of one service go. Nobody waits for that, and it never fails.
  *
  * Spans are reported when they are over, and get their ids from whoever began them: a flare's trace must
  * outlive the process that began it.
  */
trait SpanSink:
  /** Whether anybody receives the spans. */
  def isOn: Boolean

  /** Returns the context of a new span: in the trace of `parent`, which decides whether it is sampled, or in
    * a new trace. Nothing if traces are off.
    */
  def begin(parent: Option[TraceContext]): Option[TraceContext]

  /** Reports a span; only a sampled one goes anywhere. */
  def ended(span: EndedSpan): Unit

object SpanSink:
  /** Traces are off. */
  object Off extends SpanSink:
    def isOn: Boolean = false
    def begin(parent: Option[TraceContext]): Option[TraceContext] = None
    def ended(span: EndedSpan): Unit = ()

  private val random = IdGenerator.random()

  def newSpanId(): String = random.generateSpanId()

  private[traces] def newTraceId(): String = random.generateTraceId()

/** Puts spans into the queue to the collector.
  *
  * @param samples
  *   whether a trace that begins here is sampled, by its id
  */
private[traces] final class QueuedSpanSink(
    queue: SpanProcessor,
    service: Resource,
    samples: String => Boolean
) extends SpanSink:
  def isOn: Boolean = true

  def begin(parent: Option[TraceContext]): Option[TraceContext] = Some(parent match
    case Some(context) => context.at(SpanSink.newSpanId())
    case None =>
      val trace = SpanSink.newTraceId()
      TraceContext.of(trace, SpanSink.newSpanId(), samples(trace)))

  def ended(span: EndedSpan): Unit =
    if span.context.sampled then queue.onEnd(ExportedSpan(span, service))
