package burst.node.traces

import burst.protocol.TraceContext
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.propagation.W3CTraceContextPropagator
import io.opentelemetry.context.Context
import io.opentelemetry.context.propagation.TextMapGetter
import java.lang.Iterable as JavaIterable
import java.util.List as JavaList

/** A client's position in a trace of its own, as given in its request. */
object TraceHeader:
  /** The name of the header, and of the variable, that contains it. */
  val Name = "traceparent"

  /** Nothing if it does not conform to W3C's Trace Context. */
  def read(value: String): Option[TraceContext] =
    val context = W3CTraceContextPropagator.getInstance().extract(Context.root(), value, Getter)
    val found = Span.fromContext(context).getSpanContext
    Option.when(found.isValid)(TraceContext.of(found.getTraceId, found.getSpanId, found.isSampled))

  private object Getter extends TextMapGetter[String]:
    override def keys(carrier: String): JavaIterable[String] = JavaList.of(Name)
    def get(carrier: String, key: String): String = if key == Name then carrier else null
