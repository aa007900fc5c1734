package burst.controller.http

import burst.controller.gateway.{ApiTarget, Gateway, Tenant}
import burst.controller.http.connection.Connection
import burst.controller.store.Blocking
import burst.controller.web.{WebAccess, WebPath}
import java.util.Locale
import org.apache.pekko.http.scaladsl.model.Uri.Path
import org.apache.pekko.http.scaladsl.model.*
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.Route
import scala.annotation.tailrec
import scala.concurrent.{ExecutionContext, Future}

/** `/api/{tenant}/…`: the API gateway. The web action behind an operation is called as any web action is. */
final class GatewayRoutes(gateway: Gateway, call: WebCall, settings: WebSettings, blocking: Blocking)(using
    ExecutionContext
):
  import GatewayRoutes.*

  private val rates = RateLimiter()
  private val misses = FailedLogins(settings.missesPerMinute, RateLimiter())

  val route: Route =
    (pathPrefix("api" / Segment) & extractUnmatchedPath & extractRequest): (tenant, rest, request) =>
      if !Tenant.isTenant(tenant) then reject
      else
        onSuccess(find(tenant, rest, request)):
          case Left(error) => refused(error)
          case Right(target) => answer(target, rest, request)

  private def answer(target: ApiTarget, rest: Path, request: HttpRequest): Route = target match
    case ApiTarget.Found(backend, values) =>
      // An operation with parameters in its path receives the whole path, as from OpenWhisk's gateway.
      val path = if values.isEmpty then "" else rest.toString
      val secret = backend.secret.map(WebAccess.Header -> _).toVector
      call(WebPath(backend.action, backend.extension, path), WebCall.More(values, secret))
    case ApiTarget.OtherVerbs(_) if request.method == HttpMethods.OPTIONS =>
      WebCrossOrigin.directive(complete(HttpResponse()))
    case ApiTarget.OtherVerbs(verbs) =>
      val allowed = verbs.map(_.toUpperCase(Locale.ROOT)).flatMap(HttpMethods.getForKey)
      refused(ApiError.MethodNotAllowed(allowed))
    case ApiTarget.Nowhere => refused(ApiError.NoSuchRoute)

  private def refused(error: ApiError): Route = WebCrossOrigin.directive(Answer.refused(error))

  private def find(tenant: String, rest: Path, request: HttpRequest): Future[Either[ApiError, ApiTarget]] =
    val verb = request.method.value.toLowerCase(Locale.ROOT)
    rates.take(tenant, settings.requestsPerMinute) match
      case Left(pause) => Future.successful(Left(ApiError.RequestsLimited(settings.requestsPerMinute, pause)))
      case Right(()) =>
        misses
          .within(
            Connection.of(request).fold("")(_.client),
            tenant
          )(blocking(gateway.find(tenant, segments(rest), verb)))
          .map:
            case Left(pause) => Left(ApiError.MissesLimited(pause))
            case Right(found) => found.toRight(ApiError.NoSuchRoute)

object GatewayRoutes:
  /** Splits a path into decoded segments; an encoded slash is a part of its segment. */
  private[http] def segments(path: Path): Vector[String] =
    @tailrec def read(rest: Path, done: Vector[String]): Vector[String] = rest match
      case Path.Empty => done
      case Path.Slash(tail) =>
        tail match
          case Path.Segment(head, more) => read(more, done :+ head)
          case _ => read(tail, done :+ "")
      case Path.Segment(head, tail) => read(tail, done :+ head)
    read(path, Vector.empty)
