package burst.node.traces

import burst.protocol.TraceContext
import io.opentelemetry.sdk.resources.Resource
import io.opentelemetry.sdk.trace.{IdGenerator, SpanProcessor}

/** Where the spans of one service go. Nobody waits for that, and it never fails.
  *
  * Spans are told when they are over, and have their ids from whoever began them: what a flare's trace is
  * must outlive the process that began it.
  */
trait SpanSink:
  /** Whether anybody wants to know. */
  def isOn: Boolean

  /** The context of a new span: in the trace of `parent`, which says whether that is sampled, or in one of
    * its own. Nothing where traces are off.
    */
  def begin(parent: Option[TraceContext]): Option[TraceContext]

  /** Only what is sampled goes anywhere. */
  def ended(span: EndedSpan): Unit

object SpanSink:
  /** Traces are off. */
  object Off extends SpanSink:
    def isOn: Boolean = false
    def begin(parent: Option[TraceContext]): Option[TraceContext] = None
    def ended(span: EndedSpan): Unit = ()

  private val random = IdGenerator.random()

  /** A span's id. */
  def newSpanId(): String = random.generateSpanId()

  /** A trace's id. */
  private[traces] def newTraceId(): String = random.generateTraceId()

/** Into the queue that goes to the collector.
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
    case Some(above) => above.at(SpanSink.newSpanId())
    case None =>
      val trace = SpanSink.newTraceId()
      TraceContext.of(trace, SpanSink.newSpanId(), samples(trace)))

  def ended(span: EndedSpan): Unit =
    if span.context.sampled then queue.onEnd(ExportedSpan(span, service))
