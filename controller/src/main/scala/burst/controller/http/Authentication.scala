package burst.controller.http

import burst.controller.store.{Blocking, Identity, NamespaceStore}
import org.apache.pekko.http.scaladsl.model.headers.{Authorization, BasicHttpCredentials}
import org.apache.pekko.http.scaladsl.server.Directives.*
import org.apache.pekko.http.scaladsl.server.{Directive, Directive0, Directive1}

/** Who calls, and whether what they name is theirs. */
final class Authentication(namespaces: NamespaceStore, blocking: Blocking):

  /** The identity behind the request's Basic credentials; 401 without. */
  val caller: Directive1[Identity] =
    extractRequest
      .flatMap: request =>
        request.header[Authorization].map(_.credentials) match
          case Some(BasicHttpCredentials(uuid, key)) =>
            onSuccess(blocking(namespaces.authenticate(uuid, key)))
          case _ => provide(Option.empty[Identity])
      .flatMap:
        case Some(identity) => provide(identity)
        case None => Directive[Tuple1[Identity]](_ => Answer.refused(ApiError.Unauthorized))

  /** Lets through `_` and the caller's own namespace; 403 for any other, be it there or not. */
  def own(namespace: String, caller: Identity): Directive0 =
    if namespace == "_" || namespace == caller.namespace then pass
    else mapInnerRoute(_ => Answer.refused(ApiError.OtherNamespace))
