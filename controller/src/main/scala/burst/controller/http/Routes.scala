package burst.controller.http

import burst.controller.blob.BlobStoreException
import burst.controller.store.{Identity, StoreException, StoreProblem}
import burst.node.MonotonicTime
import burst.node.logs.LogIds.of
import io.circe.Json
import org.apache.pekko.http.scaladsl.model.{HttpMethod, HttpMethods, HttpRequest, HttpResponse, StatusCodes}
import org.apache.pekko.http.scaladsl.server.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.stream.Materializer
import org.slf4j.LoggerFactory
import scala.concurrent.TimeoutException
import scala.util.control.NonFatal

/** The whole API: every request gets an id, and every response has our format. */
final class Routes(
    meta: MetaRoutes,
    invokers: InvokersRoutes,
    entities: EntitiesRoutes,
    bursts: BurstsRoutes,
    versions: VersionsRoutes,
    flares: FlaresRoutes,
    groups: GroupsRoutes,
    events: EventsRoutes,
    invocations: InvokeRoutes,
    activations: ActivationsRoutes,
    admin: Route,
    web: WebRoutes,
    authentication: Authentication,
    requestLimits: RequestLimits,
    metrics: Metrics,
    traces: RequestTraces,
    settings: HttpSettings
)(using Materializer):
  import Routes.*

  val route: Route =
    RequestId.directive(settings.bodyTimes):
      WebHosts.below(settings.web.domain):
        counted:
          traces.directive:
            answeredInTime:
              handleExceptions(unexpected):
                handleRejections(rejected):
                  concat(
                    web.route,
                    headAsGet(concat(
                      meta.route,
                      pathPrefix("api" / "v1")(concat(administered, CrossOrigin.allowed(authenticated)))
                    ))
                  )

  // Unknown paths end here and are not looked for among those of users.
  private def administered: Route =
    pathPrefix("admin")(
      authentication.administrator(AuditLog.directive(
        handleExceptions(unexpected)(handleRejections(rejected)(admin))
      ))
    )

  private def authenticated: Route =
    authentication.caller: caller =>
      requestLimits.within(caller):
        concat(
          invokers.route,
          (path("namespaces" ~ Slash.?) & get)(complete(own(caller))),
          // Including packages of others.
          invocations.route(caller),
          pathPrefix("namespaces" / Segment): namespace =>
            concat(
              // They decide themselves who may read what is published.
              entities.route(caller, namespace),
              authentication.own(namespace, caller):
                concat(
                  bursts.route(caller),
                  versions.route(caller),
                  flares.route(caller),
                  groups.route(caller),
                  events.route(caller),
                  activations.route(caller)
                )
            )
        )

  /** Lists the namespaces that the credentials open, which is one. */
  private def own(caller: Identity): HttpResponse =
    JsonMarshalling.response(StatusCodes.OK, Json.arr(Json.fromString(caller.namespace)))

  /** Handles HEAD as GET; the server leaves the body out. Web actions receive the original method, so the
    * server cannot do this for all.
    */
  private def headAsGet: Directive0 = mapRequest: request =>
    if request.method == HttpMethods.HEAD then request.withMethod(HttpMethods.GET) else request

  // The server passes its own request to the handler, which lacks our id.
  private def answeredInTime: Directive0 = extractRequest.flatMap: request =>
    withRequestTimeoutResponse(_ => tooSlow(request))

  private def counted: Directive0 = extractRequest.flatMap: request =>
    val began = MonotonicTime.now()
    mapResponse: response =>
      metrics.answered(request, response, began)
      response

object Routes:
  private val log = LoggerFactory.getLogger(classOf[Routes])

  private def tooSlow(request: HttpRequest): HttpResponse =
    val id = RequestId.of(request)
    RequestId.stamped(ApiError.response(ApiError.TimedOut, id), id)

  /** Handles unexpected failures: the operator finds them in the log by the id, and the caller learns nothing
    * of the internals.
    */
  private[http] val unexpected = ExceptionHandler:
    case cause: (StoreException | BlobStoreException) =>
      val problem = StoreProblem.of(cause)
      unavailable(s"${cause.getMessage} (${problem.reason})", ApiError.StoreFailed(problem))
    // Only the scheduler is asked with a timeout.
    case cause: TimeoutException => unavailable(cause.getMessage, ApiError.SchedulerSilent)
    case NonFatal(cause) =>
      context =>
        val id = RequestId.of(context.request)
        val line = log.atError().of(RequestTraces.origin(context.request)).setCause(cause)
        line.log("a request failed unexpectedly")
        context.complete(ApiError.response(ApiError.Internal, id))

  /** Answers a temporary failure, which may hit many requests at once. */
  private def unavailable(why: String, error: ApiError): Route = context =>
    val id = RequestId.of(context.request)
    val line = log.atWarn().of(RequestTraces.origin(context.request))
    line.log("a request failed: {}", why)
    context.complete(ApiError.response(error, id))

  private[http] val rejected: RejectionHandler = RejectionHandler
    .newBuilder()
    .handleAll[MethodRejection](methods => Answer.refused(notAllowed(methods.map(_.supported))))
    .handle { case _: Rejection =>
      Answer.refused(ApiError.MalformedRequest("The request cannot be understood; see /api/v1/openapi.yaml."))
    }
    .handleNotFound(Answer.refused(ApiError.NoSuchPath))
    .result()

  private def notAllowed(methods: Seq[HttpMethod]): ApiError =
    ApiError.MethodNotAllowed(methods.distinct.flatMap:
      case HttpMethods.GET => Seq(HttpMethods.GET, HttpMethods.HEAD)
      case other => Seq(other))
