package burst.controller.http

import burst.controller.gateway.Tenant
import org.apache.pekko.http.scaladsl.model.{HttpRequest, Uri}

/** Where clients reach APIs: as they have reached the controller, unless its operator says otherwise. */
private[http] object GatewayAddress:
  def site(request: HttpRequest): String =
    Uri(scheme = request.uri.scheme, authority = request.uri.authority).toString

  def of(settings: WebSettings, request: HttpRequest, namespace: String, basePath: String): String =
    val start = settings.gatewayUrl.getOrElse(s"${site(request)}/api")
    s"$start/${Tenant.of(namespace)}${basePath.stripSuffix("/")}"
