package burst.node.traces

import io.opentelemetry.api.common.{AttributeKey, Attributes}
import io.opentelemetry.api.trace.{SpanContext, SpanKind, StatusCode, TraceFlags, TraceState}
import io.opentelemetry.sdk.common.{InstrumentationLibraryInfo, InstrumentationScopeInfo}
import io.opentelemetry.sdk.resources.Resource
import io.opentelemetry.sdk.trace.ReadableSpan
import io.opentelemetry.sdk.trace.data.{EventData, LinkData, SpanData, StatusData}
import java.util.List as JavaList
import java.util.concurrent.TimeUnit.MICROSECONDS
import scala.annotation.nowarn

/** A span in the form that OpenTelemetry's exporters accept. Their tracers would build it again from the same
  * parts, at several times the cost.
  */
@nowarn("cat=deprecation") // The interfaces have a deprecated method.
private[traces] final class ExportedSpan(span: EndedSpan, service: Resource) extends ReadableSpan, SpanData:
  import ExportedSpan.*

  private val context = placed(span.context.traceId, span.context.spanId)
  private val parent = span.parent.fold(SpanContext.getInvalid)(placed(span.context.traceId, _))
  private val start = MICROSECONDS.toNanos(span.start.micros)
  private val end = MICROSECONDS.toNanos(span.end.max(span.start).micros)
  private val attributes =
    span.error.fold(span.attributes)(span.attributes.toBuilder.put(SpanKeys.ErrorType, _).build())

  def toSpanData: SpanData = this
  def getName: String = span.name
  def getKind: SpanKind = span.kind
  def getSpanContext: SpanContext = context
  def getParentSpanContext: SpanContext = parent
  def getStatus: StatusData = span.error.fold(StatusData.unset)(StatusData.create(StatusCode.ERROR, _))
  def getStartEpochNanos: Long = start
  def getEndEpochNanos: Long = end
  def getLatencyNanos: Long = end - start
  def hasEnded: Boolean = true
  override def getAttributes: Attributes = attributes
  def getAttribute[A](key: AttributeKey[A]): A = attributes.get(key)
  def getTotalAttributeCount: Int = attributes.size
  def getEvents: JavaList[EventData] = JavaList.of()
  def getTotalRecordedEvents: Int = 0
  def getLinks: JavaList[LinkData] = JavaList.of()
  def getTotalRecordedLinks: Int = 0
  def getResource: Resource = service
  override def getInstrumentationScopeInfo: InstrumentationScopeInfo = Scope
  def getInstrumentationLibraryInfo: InstrumentationLibraryInfo =
    InstrumentationLibraryInfo.create(Scope.getName, null)

private object ExportedSpan:
  private val Scope = InstrumentationScopeInfo.create("burst")

  private def placed(trace: String, span: String): SpanContext =
    SpanContext.create(trace, span, TraceFlags.getSampled, TraceState.getDefault)
