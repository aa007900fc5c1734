package burst.controller

import burst.node.traces.{EndedSpan, SpanSink}
import burst.protocol.TraceContext
import io.opentelemetry.api.common.AttributeKey
import java.util.concurrent.ConcurrentLinkedQueue
import scala.jdk.CollectionConverters.*

/** Keeps the spans that end. */
final class RecordedSpans extends SpanSink:
  private val spans = ConcurrentLinkedQueue[EndedSpan]()

  def isOn: Boolean = true
  def begin(parent: Option[TraceContext]): Option[TraceContext] =
    Some(parent.fold(TraceContext.of(
      "c" * 32,
      SpanSink.newSpanId(),
      sampled = true
    ))(_.at(SpanSink.newSpanId())))
  def ended(span: EndedSpan): Unit =
    val _ = spans.add(span)

  def all: Vector[EndedSpan] = spans.asScala.toVector
  def of(name: String): Vector[EndedSpan] = all.filter(_.name == name)
  def forget(): Unit = spans.clear()

object RecordedSpans:
  extension (span: EndedSpan) def tells[A](key: AttributeKey[A]): Option[A] = Option(span.attributes.get(key))
