package burst.controller.http

import burst.controller.web.FrontProxy
import org.apache.pekko.http.scaladsl.server.Directive0
import org.apache.pekko.http.scaladsl.server.Directives.*

/** Maps requests to namespaces' own hosts to their web actions. */
private[http] object WebHosts:
  def below(domain: Option[String]): Directive0 = domain.fold(pass): name =>
    val proxy = FrontProxy(name)
    mapRequestContext: context =>
      val uri = context.request.uri
      proxy.path(uri.authority.host.address, uri.path) match
        case Some(path) =>
          context.withRequest(context.request.withUri(uri.withPath(path))).withUnmatchedPath(path)
        case None => context
