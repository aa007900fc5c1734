package burst.controller.scheduler

import burst.controller.flare.{Flare, FlareRequest, FlareState}
import burst.node.traces.{EndedSpan, SpanKeys, SpanSink}
import burst.protocol.{FlareId, Timestamp, TraceContext}
import io.circe.syntax.*
import io.opentelemetry.api.common.{Attributes, AttributesBuilder}

/** A flare's part of its trace, as far as the scheduler knows it:
  * {{{
  *  the request
  *  └─ flare        from its request to its end
  *     ├─ queue      waiting for slots     } of each attempt
  *     ├─ placement  until packs are asked } of each attempt
  *     └─ pack …     by its invoker
  * }}}
  * The controller that has the flare when it ends reports the whole; the span's id is derived from the
  * flare's.
  */
private[scheduler] final class FlareSpans(id: FlareId, request: FlareRequest, spans: SpanSink):
  private val own: Option[TraceContext] =
    if spans.isOn then request.origin.flatMap(_.ofFlare(id)).filter(_.sampled) else None

  def waited(attempt: Int, from: Timestamp, to: Timestamp): Unit = step("queue", attempt, from, to)
  def placed(attempt: Int, from: Timestamp, to: Timestamp): Unit = step("placement", attempt, from, to)

  def ended(flare: Flare): Unit = for context <- own; end <- flare.ended do
    val attributes = named
      .put(SpanKeys.Namespace, request.definition.namespace)
      .put(SpanKeys.Definition, request.definition.name)
      .put(SpanKeys.Size, request.size.toLong)
      .put(SpanKeys.Packs, flare.packs.size.toLong)
      .put(SpanKeys.Attempt, flare.attempt.toLong)
      .put(SpanKeys.State, flare.state.asJson.asString.getOrElse(""))
    flare.granularity.foreach(workers => attributes.put(SpanKeys.Granularity, workers.toLong))
    request.memberOf.foreach(group => attributes.put(SpanKeys.Group, group.value))
    request.origin.foreach(origin => attributes.put(SpanKeys.Transaction, origin.transaction))
    val error =
      if flare.state == FlareState.Succeeded then None
      else flare.error.map(EndedSpan.error).filterNot(_ => isClosed(flare))
    val parent = request.origin.flatMap(_.trace).map(_.spanId)
    spans.ended(EndedSpan(context, parent, "flare", flare.created, end, attributes.build(), error))

  /** Whether it is a group that its owner has closed. */
  private def isClosed(flare: Flare): Boolean = request.isGroup && flare.state == FlareState.Cancelled

  private def step(name: String, attempt: Int, from: Timestamp, to: Timestamp): Unit = own.foreach: flare =>
    val attributes = named.put(SpanKeys.Attempt, attempt.toLong).build()
    spans.ended(EndedSpan(flare.at(SpanSink.newSpanId()), Some(flare.spanId), name, from, to, attributes))

  private def named: AttributesBuilder = Attributes.builder().put(SpanKeys.Flare, id.value)
