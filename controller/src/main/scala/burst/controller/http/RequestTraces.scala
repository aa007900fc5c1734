package burst.controller.http

import burst.node.traces.{EndedSpan, SpanKeys, SpanSink, TraceHeader}
import burst.protocol.{Origin, Timestamp, TraceContext}
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.trace.SpanKind
import org.apache.pekko.http.scaladsl.model.headers.Authorization
import org.apache.pekko.http.scaladsl.model.{AttributeKey, HttpRequest, HttpResponse}
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.*

/** The span of each request to a path of the API's description, except frequent ones that start nothing. It
  * continues the client's trace if the request has a `traceparent`, and lasts until its answer begins.
  * Clients without credentials do not decide what is traced.
  */
final class RequestTraces(templates: RouteTemplates, spans: SpanSink):
  import RequestTraces.*

  val directive: Directive0 =
    if !spans.isOn then pass
    else
      extractRequest.flatMap: request =>
        templates.of(request.uri.path).filterNot(Untraced).fold(pass)(traced(request, _))

  private def traced(request: HttpRequest, route: String): Directive0 =
    val began = Timestamp.now()
    val client = clients(request).filter(_ => request.header[Authorization].isDefined)
    spans.begin(client).fold(pass): context =>
      mapRequest(_.addAttribute(Key, context)) & mapResponse: response =>
        if context.sampled then spans.ended(span(request, route, response, began, client, context))
        response

object RequestTraces:
  private val Key = AttributeKey[TraceContext]("burst-trace")
  private val Untraced =
    Set("/", "/api/v1", "/ping", "/ready", "/metrics", "/api/v1/openapi.yaml", "/api/v1/api-docs")

  /** Returns a request as the origin of what it starts. */
  def origin(request: HttpRequest): Origin = Origin(RequestId.of(request), request.attribute(Key))

  /** Returns the client's trace context; of two it is unknown which is meant. */
  private def clients(request: HttpRequest): Option[TraceContext] =
    request.headers.filter(_.is(TraceHeader.Name)) match
      case Seq(one) => TraceHeader.read(one.value)
      case _ => None

  private def span(
      request: HttpRequest,
      route: String,
      response: HttpResponse,
      began: Timestamp,
      client: Option[TraceContext],
      context: TraceContext
  ): EndedSpan =
    // A client may send any word as its method.
    val method = if Methods(request.method.value) then request.method.value else "_OTHER"
    val status = response.status.intValue
    val attributes = Attributes
      .builder()
      .put(SpanKeys.Method, method)
      .put(SpanKeys.Route, route)
      .put(SpanKeys.Status, status.toLong)
      .put(SpanKeys.Transaction, RequestId.of(request))
    EndedSpan(
      context,
      client.map(_.spanId),
      s"$method $route",
      began,
      Timestamp.now(),
      attributes.build(),
      Option.when(status >= 500)(status.toString),
      SpanKind.SERVER
    )

  private val Methods = Set("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
