package burst.controller.http

import burst.controller.http.connection.Connection
import burst.controller.store.{Blocking, Identity, NamespaceStore}
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.http.scaladsl.model.headers.{Authorization, BasicHttpCredentials}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.{Directive, Directive0, Directive1}
import scala.concurrent.{ExecutionContext, Future}
import scala.concurrent.duration.FiniteDuration

/** Identifies callers, and checks that the namespace they name is their own. */
final class Authentication(
    namespaces: NamespaceStore,
    admin: Option[AdminKey],
    logins: FailedLogins,
    blocking: Blocking
)(using
    ExecutionContext
):

  /** The identity behind the request's Basic credentials; 401 without. */
  val caller: Directive1[Identity] =
    extractRequest.flatMap: request =>
      credentials(request) match
        case None => admitted(request, Right(None), ApiError.Unauthorized)
        case Some((uuid, key)) =>
          onSuccess(logins.within(
            client(request),
            s"$uuid:$key"
          )(blocking.reading(namespaces.authenticate(uuid, key))))
            .flatMap: found =>
              admitted(request, found, ApiError.Unauthorized)

  /** Returns the identity behind the credentials of a request that needs none, if they are valid. They may be
    * meant for the action that answers: only those that could be a key of ours are looked up.
    */
  def shown(request: HttpRequest): Future[Either[ApiError, Option[Identity]]] =
    credentials(request).filter((user, _) => Authentication.AUuid.matches(user)) match
      case None => Future.successful(Right(None))
      case Some((uuid, key)) =>
        logins
          .within(client(request), s"$uuid:$key")(blocking.reading(namespaces.authenticate(uuid, key)))
          .map(_.left.map(ApiError.LoginsLimited(_)))
          .map: found =>
            Connection.of(request).foreach(_.showed(found.exists(_.isDefined)))
            found

  /** Lets only the administrator through, who belongs to no namespace. */
  val administrator: Directive0 =
    extractRequest.flatMap: request =>
      admin match
        case None => mapInnerRoute(_ => Answer.refused(ApiError.AdminOff))
        case Some(own) =>
          val shown = credentials(request)
          val found = shown.filter((user, key) => user == AdminKey.User && own.opens(key))
          val known =
            if shown.isEmpty || found.isDefined then Right(found) else logins.failed(client(request))
          admitted(request, known, ApiError.NotAdmin).flatMap(_ => pass)

  /** Lets an authenticated caller through, and records on its connection whether it was one: that decides
    * which connections are cut when there are too many.
    */
  private def admitted[A](
      request: HttpRequest,
      found: Either[FiniteDuration, Option[A]],
      otherwise: ApiError
  ): Directive1[A] =
    val known = found.left.map(ApiError.LoginsLimited(_)).flatMap(_.toRight(otherwise))
    Connection.of(request).foreach(_.showed(known.isRight))
    known match
      case Right(value) => provide(value)
      case Left(error) => Directive[Tuple1[A]](_ => Answer.refused(error))

  private def client(request: HttpRequest): String = Connection.of(request).fold("")(_.client)

  private def credentials(request: HttpRequest): Option[(String, String)] =
    request.header[Authorization].map(_.credentials).collect:
      case BasicHttpCredentials(user, key) => (user, key)

  /** Lets through `_` and the caller's own namespace; answers 403 for any other, whether it exists or not. */
  def own(namespace: String, caller: Identity): Directive0 =
    if namespace == "_" || namespace == caller.namespace then pass
    else mapInnerRoute(_ => Answer.refused(ApiError.OtherNamespace))

object Authentication:
  private val AUuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}".r
