package burst.node.traces

import burst.protocol.TraceContext
import io.opentelemetry.api.trace.{Span, SpanContext, StatusCode, TraceFlags, TraceState, Tracer}
import io.opentelemetry.context.Context
import io.opentelemetry.sdk.trace.IdGenerator
import java.util.concurrent.TimeUnit.MICROSECONDS

/** Where the spans of one service go. Nobody waits for that, and it never fails.
  *
  * Spans are told when they are over, and have their ids from who began them: what a flare's trace is must
  * outlive the process that began it.
  */
trait SpanSink:
  /** Whether anybody wants to know. */
  def isOn: Boolean

  /** The place of a new span: in the trace of `parent`, which says whether that is sampled, or in one of its
    * own. Nothing where traces are off.
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

/** By OpenTelemetry's SDK.
  *
  * @param samples
  *   whether a trace that begins here is sampled, by its id
  */
private[traces] final class SdkSpanSink(tracer: Tracer, ids: GivenIds, samples: String => Boolean)
    extends SpanSink:
  def isOn: Boolean = true

  def begin(parent: Option[TraceContext]): Option[TraceContext] = Some(parent match
    case Some(above) => above.at(SpanSink.newSpanId())
    case None =>
      val trace = SpanSink.newTraceId()
      TraceContext.of(trace, SpanSink.newSpanId(), samples(trace)))

  def ended(span: EndedSpan): Unit = if span.context.sampled then
    val above = span.parent.fold(Context.root()): id =>
      val parent =
        SpanContext.create(span.context.traceId, id, TraceFlags.getSampled, TraceState.getDefault)
      Context.root().`with`(Span.wrap(parent))
    val made = ids.giving(span.context):
      tracer
        .spanBuilder(span.name)
        .setParent(above)
        .setSpanKind(span.kind)
        .setAllAttributes(span.attributes)
        .setStartTimestamp(span.start, MICROSECONDS)
        .startSpan()
    span.error.foreach: kind =>
      made.setStatus(StatusCode.ERROR, kind)
      made.setAttribute(SpanKeys.ErrorType, kind)
    made.end(span.end.max(span.start), MICROSECONDS)

/** Has the SDK take the ids that a span has already. */
private[traces] final class GivenIds extends IdGenerator:
  private val next = ThreadLocal[TraceContext]()

  def giving[A](context: TraceContext)(make: => A): A =
    next.set(context)
    try make
    finally next.remove()

  def generateTraceId(): String = Option(next.get).fold(SpanSink.newTraceId())(_.traceId)
  def generateSpanId(): String = Option(next.get).fold(SpanSink.newSpanId())(_.spanId)
