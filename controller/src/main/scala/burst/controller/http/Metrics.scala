package burst.controller.http

import burst.controller.flare.FlareState
import burst.controller.scheduler.InvokerView
import burst.node.MonotonicTime
import burst.node.metrics.{MetricsRegistry, Seconds}
import io.circe.syntax.*
import org.apache.pekko.http.scaladsl.model.{HttpRequest, HttpResponse, StatusCode, StatusCodes}
import org.apache.pekko.util.ByteString

/** Metrics of requests, and the platform's current state. `described` maps each path of the API to its
  * methods: labels come from these words only, never from a client.
  */
final class Metrics(registry: MetricsRegistry, described: Map[String, Set[String]]):
  import Metrics.*

  private val requests = registry.counter(
    "burst_http_requests",
    "HTTP requests answered, by method, path and status.",
    "method",
    "route",
    "status"
  )
  private val seconds = registry.histogram(
    "burst_http_request_seconds",
    "Time until the response begins.",
    // A blocking call may wait for a minute.
    Seconds.Short :+ 60.0 :+ 90.0,
    "method",
    "route"
  )
  private val flares = registry.gauge("burst_flares", "Stored flares, by state.", "state")
  private val invokers = registry.gauge("burst_invokers", "Invokers, by state.", "state")
  private val slots = registry.gauge("burst_slots", "Slots of the invokers that accept flares.")
  private val freeSlots = registry.gauge("burst_free_slots", "Free slots.")
  private val parts =
    registry.gauge("burst_part_up", "Whether the part answered this scrape: 1 or 0.", "part")

  private val templates = RouteTemplates(described.keys)
  private val routes = described.map((template, methods) => template -> Route(template, methods))
  private val unknown = Route(Other, Set.empty)

  /** Records a request at the moment its answer begins; it had arrived at `began`. */
  def answered(request: HttpRequest, response: HttpResponse, began: MonotonicTime): Unit =
    templates.of(request.uri.path).flatMap(routes.get).getOrElse(unknown).of(request.method.value)
      .answered(response.status, began)

  /** Returns all metrics, with the current figures taken from `states` and `views` as far as they are known.
    */
  def render(states: Option[Map[FlareState, Int]], views: Option[Vector[InvokerView]]): ByteString =
    synchronized:
      FlareState.values.foreach: state =>
        val known = states.map(_.getOrElse(state, 0))
        flares.labelValues(state.asJson.asString.getOrElse("")).set(shown(known))
      InvokerState.values.foreach: state =>
        val known = views.map(_.count(InvokerState.of(_) == state))
        invokers.labelValues(state.asJson.asString.getOrElse("")).set(shown(known))
      val up = views.map(_.filter(_.offers))
      slots.set(shown(up.map(_.map(_.status.slots).sum)))
      freeSlots.set(shown(up.map(_.map(_.freeSlots).sum)))
      parts.labelValues("database").set(if states.isDefined then 1 else 0)
      parts.labelValues("scheduler").set(if views.isDefined then 1 else 0)
      ByteString.fromArrayUnsafe(registry.text())

  /** The requests to one path. */
  private final class Route(template: String, methods: Set[String]):
    private val other = Operation(Other)
    private val named =
      val heads = Option.when(methods("GET"))("HEAD")
      (methods ++ heads).map(method => method -> Operation(method)).toMap

    /** Returns the operation of a method. A client may send any word as its method. */
    def of(method: String): Operation = named.getOrElse(method, other)

    final class Operation(method: String):
      // Lazy, so that operations nobody calls are not shown.
      private lazy val times = seconds.labelValues(method, template)

      def answered(status: StatusCode, began: MonotonicTime): Unit =
        times.observe(Seconds.since(began))
        requests.labelValues(method, template, statusText(status.intValue)).inc()

private object Metrics:
  private val Other = "other"

  /** Shortens unknown statuses, as web actions may return any. */
  private def statusText(status: Int): String =
    if StatusCodes.getForKey(status).isDefined then status.toString else s"${status / 100}xx"

  /** Shows an unknown figure as NaN, as Prometheus does. */
  private def shown(figure: Option[Int]): Double = figure.fold(Double.NaN)(_.toDouble)
