package burst.controller.http

import burst.controller.flare.FlareState
import burst.controller.scheduler.InvokerView
import io.circe.syntax.*
import io.prometheus.metrics.core.metrics.{Counter, Gauge}
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter
import io.prometheus.metrics.model.registry.PrometheusRegistry
import java.io.ByteArrayOutputStream
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse}
import org.apache.pekko.util.ByteString

/** The platform's figures in Prometheus' text format. They speak of no namespace. */
final class Metrics:
  private val registry = PrometheusRegistry()
  private val requests = Counter
    .builder()
    .name("burst_http_requests")
    .help("HTTP requests answered, by method and status.")
    .labelNames("method", "status")
    .register(registry)
  private val flares = gauge("burst_flares", "Flares kept, by state.", "state")
  private val invokers = gauge("burst_invokers", "Invokers, by state.", "state")
  private val slots = gauge("burst_slots", "Slots of the invokers that are up.")
  private val freeSlots = gauge("burst_free_slots", "Slots nothing runs on.")
  private val writer = PrometheusTextFormatWriter.create()

  def answered(request: HttpRequest, response: HttpResponse): Unit =
    // Any word may stand where a method does; a stranger's must not become a time series.
    val method = if Metrics.Methods.contains(request.method.value) then request.method.value else "other"
    requests.labelValues(method, response.status.intValue.toString).inc()

  /** All figures, with those of the moment taken from `states` and `views`. */
  def render(states: Map[FlareState, Int], views: Vector[InvokerView]): ByteString = synchronized:
    FlareState.values.foreach: state =>
      flares.labelValues(state.asJson.asString.getOrElse("")).set(states.getOrElse(state, 0).toDouble)
    val (up, down) = views.partition(_.up)
    val quarantined = up.count(_.quarantine.isDefined)
    invokers.labelValues("up").set(up.size - quarantined)
    invokers.labelValues("quarantined").set(quarantined)
    invokers.labelValues("down").set(down.size)
    slots.set(up.map(_.status.slots).sum)
    freeSlots.set(up.map(_.freeSlots).sum)
    val out = ByteArrayOutputStream()
    writer.write(out, registry.scrape())
    ByteString.fromArrayUnsafe(out.toByteArray)

  private def gauge(name: String, help: String, labels: String*): Gauge =
    Gauge.builder().name(name).help(help).labelNames(labels*).register(registry)

object Metrics:
  val ContentType: String = PrometheusTextFormatWriter.CONTENT_TYPE
  private val Methods = Set("GET", "PUT", "POST", "DELETE", "HEAD", "OPTIONS", "PATCH")
