package burst.controller.http

import burst.controller.action.*
import burst.controller.http.BodyIntake.Growing
import burst.controller.http.connection.Connection
import burst.controller.store.{Blocking, Identity, NamespaceStore}
import burst.controller.web.*
import burst.protocol.FlareId
import io.circe.{Json, JsonObject}
import java.util.Locale
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.model.headers.RawHeader
import org.apache.pekko.http.scaladsl.server.{MediaTypeNegotiator, Route, RouteResult}
import org.apache.pekko.util.ByteString
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future}

/** A request to a web action, from anyone. It runs as the action's owner, under limits separate from those of
  * the owner's own requests.
  */
final class WebCall(
    actions: Actions,
    invocations: Invocations,
    namespaces: NamespaceStore,
    authentication: Authentication,
    intake: BodyIntake,
    body: RequestBody,
    settings: WebSettings,
    waiting: FiniteDuration,
    blocking: Blocking
)(using ExecutionContext):
  import WebCall.*

  private val sandbox = WebSandbox(settings.domain)
  private val limits = RequestLimits(RateLimiter())
  private val misses = FailedLogins(settings.missesPerMinute, RateLimiter())

  /** @param more
    *   arguments and headers that the path stands for
    */
  def apply(path: WebPath, more: More = More()): Route =
    sandbox.directive(called(path, more))

  private def called(path: WebPath, more: More): Route = context =>
    val request = context.request
    find(request, path.action).flatMap:
      case Left(error) => WebCrossOrigin.directive(Answer.refused(error))(context)
      case Right(found) =>
        val limited = limits.within(found.limited(settings)): inner =>
          answer(inner.request, path, more, found).map(RouteResult.Complete(_))
        val route = if found.rules.customOptions then limited else WebCrossOrigin.directive(limited)
        route(context)

  private def find(request: HttpRequest, name: ActionName): Future[Either[ApiError, Found]] =
    val client = Connection.of(request).fold("")(_.client)
    misses
      .within(client, name.qualified)(blocking(look(name)))
      .map:
        case Left(pause) => Left(ApiError.MissesLimited(pause))
        case Right(found) => found.toRight(ApiError.Web(WebProblem.NoSuchAction))

  private def look(name: ActionName): Option[Found] =
    for
      owner <- namespaces.find(name.namespace) if owner.revoked.isEmpty
      // Through a binding it would run with parameters that its owner shared with nobody but that package.
      action <- actions.find(name).toOption if action.target == name
      rules = WebRules.of(action) if rules.exported
    yield Found(owner.identity, action, rules)

  private def answer(request: HttpRequest, path: WebPath, more: More, found: Found): Future[HttpResponse] =
    if request.method == HttpMethods.OPTIONS && !found.rules.customOptions then
      Future.successful(HttpResponse())
    else
      authentication
        .shown(request)
        .map(_.flatMap(user => admitted(request, more, found.rules, user).map(_ => user)))
        .map(_.flatMap(user => acceptable(request, path.extension.contentType).map(_ => user)))
        .flatMap:
          case Left(error) => Future.successful(Left(error))
          case Right(user) => run(request, path, more, found, user)
        .map(_.fold(ApiError.response(_, RequestId.of(request)), identity))

  private def admitted(
      request: HttpRequest,
      more: More,
      rules: WebRules,
      user: Option[Identity]
  ): Either[ApiError, Unit] =
    val shown = headers(request, more).collect:
      case (name, value) if name.equalsIgnoreCase(WebAccess.Header) => value
    // Lets the action answer a preflight request, for which a browser has no credentials.
    if request.method == HttpMethods.OPTIONS then Right(())
    else rules.access.problem(user.isDefined, shown).map(ApiError.Web(_)).toLeft(())

  private def run(
      request: HttpRequest,
      path: WebPath,
      more: More,
      found: Found,
      user: Option[Identity]
  ): Answer =
    val asked = WebRequest(
      request.method.value,
      headers(request, more) ++ contentType(request.entity),
      path.rest,
      request.uri.rawQueryString.getOrElse(""),
      user.map(_.namespace),
      more.arguments
    )
    def read(bytes: ByteString) = arguments(request.entity, asked, found.rules)(bytes).map: fields =>
      Growing.later(bytes, found.action.growth)(fields)
    intake.ofAnyType(found.owner.namespace, request)(read): fields =>
      val invocation =
        Invocation(found.owner, found.action, Json.fromJsonObject(fields), RequestTraces.origin(request))
      invocations
        .invoke(invocation, Some(waiting))
        .map:
          case Left(refusal) => Left(InvokeRoutes.refusal(refusal))
          case Right(invoked) => Right(response(request, path.extension, invoked))

  private def arguments(entity: HttpEntity, asked: WebRequest, rules: WebRules)(
      bytes: ByteString
  ): Either[ApiError, JsonObject] =
    val contentType = entity.contentType
    val taken: Either[ApiError, WebBody] = BodyForm.of(contentType, bytes.isEmpty, rules.raw) match
      case BodyForm.Absent => Right(WebBody.Absent)
      case BodyForm.Json => body.parse(bytes).map(WebBody.ofJson)
      case BodyForm.Fields => WebBody.ofForm(bytes).left.map(ApiError.Web(_))
      case BodyForm.Text => Right(WebBody.ofText(contentType, bytes))
      case BodyForm.Binary => Right(WebBody.ofBinary(bytes))
    taken.flatMap(WebRequest.arguments(asked, _, rules).left.map(ApiError.Web(_)))

  private def response(request: HttpRequest, extension: WebExtension, invoked: Invoked): HttpResponse =
    val (id, told) = invoked match
      case Invoked.Running(id) => (id, Left(ApiError.Web(WebProblem.NotReady)))
      case Invoked.Ended(activation) =>
        val made = WebResult.of(activation, extension).left.map(ApiError.Web(_))
        (activation.id, made.flatMap(it => acceptable(request, declared(it)).map(_ => it)))
    told
      .fold(ApiError.response(_, RequestId.of(request)), identity)
      .addHeader(activationId(id))

object WebCall:
  /** What a path adds to the action: arguments and headers. */
  final case class More(
      arguments: Vector[(String, String)] = Vector.empty,
      headers: Vector[(String, String)] = Vector.empty
  ):
    override def toString: String = s"More(${arguments.map(_(0))})"

  private final case class Found(owner: Identity, action: Action, rules: WebRules):
    /** Returns the owner with the limits for requests of strangers. */
    def limited(settings: WebSettings): Identity = owner.copy(limits =
      owner.limits.copy(
        requestsPerMinute = settings.requestsPerMinute,
        concurrentRequests = settings.concurrentRequests
      )
    )

  private def activationId(id: FlareId) = RawHeader(InvokeRoutes.IdHeader, id.value)

  /** Returns the request's headers as they came, under those of the path, without those that the server
    * itself added.
    */
  private def headers(request: HttpRequest, more: More): Vector[(String, String)] =
    val own = more.headers.map((name, _) => name.toLowerCase(Locale.ROOT)).toSet
    request.headers
      .filter(header => header.renderInRequests && !own(header.lowercaseName))
      .map(header => header.name -> header.value)
      .toVector ++ more.headers

  private def contentType(entity: HttpEntity): Vector[(String, String)] =
    Vector(entity.contentType).filter(_ != ContentTypes.NoContentType).map("content-type" -> _.value)

  private def declared(response: HttpResponse): Option[ContentType] =
    Option(response.entity).filterNot(_.isKnownEmpty).map(_.contentType)

  private def acceptable(request: HttpRequest, sent: Option[ContentType]): Either[ApiError, Unit] =
    val accepts = MediaTypeNegotiator(request.headers)
    sent
      .map(_.mediaType)
      .filterNot(accepts.isAccepted)
      .map(media => ApiError.Web(WebProblem.NotAcceptable(media.value)))
      .toLeft(())
