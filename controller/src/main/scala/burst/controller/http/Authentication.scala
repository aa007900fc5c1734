package burst.controller.http

import burst.controller.store.{Blocking, Identity, NamespaceStore}
import org.apache.pekko.http.scaladsl.model.HttpRequest
import org.apache.pekko.http.scaladsl.model.headers.{Authorization, BasicHttpCredentials}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.{Directive, Directive0, Directive1}

/** Who calls, and whether what they name is theirs. */
final class Authentication(namespaces: NamespaceStore, admin: Option[AdminKey], blocking: Blocking):

  /** The identity behind the request's Basic credentials; 401 without. */
  val caller: Directive1[Identity] =
    extractRequest
      .flatMap: request =>
        credentials(request) match
          case Some((uuid, key)) => onSuccess(blocking(namespaces.authenticate(uuid, key)))
          case None => provide(Option.empty[Identity])
      .flatMap:
        case Some(identity) => provide(identity)
        case None => Directive[Tuple1[Identity]](_ => Answer.refused(ApiError.Unauthorized))

  /** Lets only the administrator through, who is nobody's namespace. */
  val administrator: Directive0 =
    extractRequest.flatMap: request =>
      admin match
        case None => mapInnerRoute(_ => Answer.refused(ApiError.AdminOff))
        case Some(own) =>
          credentials(request) match
            case Some((AdminKey.User, key)) if own.opens(key) => pass
            case _ => mapInnerRoute(_ => Answer.refused(ApiError.NotAdmin))

  private def credentials(request: HttpRequest): Option[(String, String)] =
    request.header[Authorization].map(_.credentials).collect:
      case BasicHttpCredentials(user, key) => (user, key)

  /** Lets through `_` and the caller's own namespace; 403 for any other, be it there or not. */
  def own(namespace: String, caller: Identity): Directive0 =
    if namespace == "_" || namespace == caller.namespace then pass
    else mapInnerRoute(_ => Answer.refused(ApiError.OtherNamespace))
