package burst.protocol

import io.circe.{Codec, Decoder, Encoder}

/** A span's trace context, as defined by W3C: whoever continues the trace names it as the parent. Only spans
  * that are `sampled` are exported. Written as `traceparent` on the wire.
  */
final case class TraceContext private (traceId: String, spanId: String, sampled: Boolean):
  /** The value of the header of that name. */
  def traceparent: String = s"00-$traceId-$spanId-${if sampled then "01" else "00"}"

  /** The context of another span of this trace. */
  def at(span: String): TraceContext = copy(spanId = span)

object TraceContext:
  private val Form = "00-([0-9a-f]{32})-([0-9a-f]{16})-0([01])".r
  private val NoTrace = "0" * 32
  private val NoSpan = "0" * 16

  /** @param traceId
    *   32 lower-case hexadecimal digits that are not all zero
    * @param spanId
    *   16 of them
    */
  def of(traceId: String, spanId: String, sampled: Boolean): TraceContext =
    TraceContext(traceId, spanId, sampled)

  /** Reads what `traceparent` wrote. Clients may send other forms as well. */
  def parse(text: String): Option[TraceContext] = text match
    case Form(trace, span, sampled) if trace != NoTrace && span != NoSpan =>
      Some(TraceContext(trace, span, sampled == "1"))
    case _ => None

  given Codec[TraceContext] = Codec.from(
    Decoder.decodeString.emap(text => parse(text).toRight("not a traceparent")),
    Encoder.encodeString.contramap(_.traceparent)
  )
