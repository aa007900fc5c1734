package burst.node.traces

import burst.node.metrics.MetricsRegistry
import com.typesafe.config.Config
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.common.AttributeKey.stringKey
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.context.Context
import io.opentelemetry.exporter.otlp.http.trace.OtlpHttpSpanExporter
import io.opentelemetry.sdk.resources.Resource
import io.opentelemetry.sdk.trace.`export`.{BatchSpanProcessor, SpanExporter}
import io.opentelemetry.sdk.trace.samplers.{Sampler, SamplingDecision}
import java.time.Duration
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.atomic.AtomicLong
import java.util.logging.{Level, Logger}
import java.util.{List as JavaList, UUID}

/** The traces of a process: the spans of its services go to a collector, from one queue. Spans are dropped if
  * the queue is full, or the collector cannot be reached.
  */
trait Traces:
  /** The sink for the spans of `instance`, one instance of a service. */
  def of(service: TracedService, instance: String): SpanSink

  /** Sends what is queued, for a moment, and ends. Blocks. */
  def close(): Unit

/** The service that spans belong to, by `service.name`. */
enum TracedService(val name: String):
  case Controller extends TracedService("burst-controller")
  case Invoker extends TracedService("burst-invoker")

  /** A runtime reaches nobody but its invoker, which reports its spans. */
  case Runtime extends TracedService("burst-runtime")

object Traces:
  object Off extends Traces:
    def of(service: TracedService, instance: String): SpanSink = SpanSink.Off
    def close(): Unit = ()

  /** Traces as configured. Throws `SetupException` for settings that cannot be used. */
  def from(config: Config, metrics: MetricsRegistry): Traces =
    TracesSettings.from(config).fold(Off): settings =>
      // Failures are logged once by WatchedExporter, and not on the terminal.
      SdkLog.setLevel(Level.OFF)
      val sending = OtlpHttpSpanExporter
        .builder()
        .setEndpoint(settings.endpoint.toString)
        .setTimeout(ExportTimeout)
      settings.headers.foreach((name, value) => sending.addHeader(name, value))
      over(sending.build(), settings, metrics)

  /** Traces with the caller's exporter. */
  private[burst] def over(
      exporter: SpanExporter,
      settings: TracesSettings,
      metrics: MetricsRegistry
  ): Traces =
    val watched = WatchedExporter(exporter, settings.endpoint.toString)
    val traces = SdkTraces(watched, settings)
    metrics.readCounter("burst_trace_spans", "Spans, by what became of them.", "outcome"): read =>
      read.call(traces.recorded.get.toDouble, "recorded")
      read.call(watched.exported.get.toDouble, "exported")
      read.call(watched.failed.get.toDouble, "failed")
    traces

  /** Generates an id for a service that has none of its own. */
  def newInstance(): String = UUID.randomUUID.toString

  private val ExportTimeout = Duration.ofSeconds(5)

  // Referenced here, since its level is lost with the logger.
  private val SdkLog = Logger.getLogger("io.opentelemetry")

private final class SdkTraces(exporter: SpanExporter, settings: TracesSettings) extends Traces:
  import SdkTraces.*

  val recorded: AtomicLong = AtomicLong()
  private val sampler = Sampler.traceIdRatioBased(settings.ratio)
  private val processor = BatchSpanProcessor
    .builder(exporter)
    .setMaxQueueSize(settings.queue)
    .setMaxExportBatchSize(settings.queue.min(MostAtOnce))
    .setScheduleDelay(Pause)
    .build()

  def of(service: TracedService, instance: String): SpanSink =
    val resource = Resource.create(
      Attributes.of(stringKey("service.name"), service.name, stringKey("service.instance.id"), instance)
    )
    val sink = QueuedSpanSink(processor, resource, samples)
    new SpanSink:
      export sink.{begin, isOn}
      def ended(span: EndedSpan): Unit = if span.context.sampled then
        recorded.incrementAndGet()
        sink.ended(span)

  private def samples(trace: String): Boolean =
    val result =
      sampler.shouldSample(Context.root(), trace, "", SpanKind.SERVER, Attributes.empty, JavaList.of())
    result.getDecision == SamplingDecision.RECORD_AND_SAMPLE

  def close(): Unit =
    val _ = processor.shutdown().join(FlushTimeout.toMillis, MILLISECONDS)

private object SdkTraces:
  /** Maximum spans per export. */
  private val MostAtOnce = 2048

  /** How long a span waits for others at most. */
  private val Pause = Duration.ofSeconds(1)
  private val FlushTimeout = Duration.ofSeconds(2)
