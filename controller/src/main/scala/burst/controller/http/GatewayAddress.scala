package burst.controller.http

import burst.controller.gateway.Tenant
import org.apache.pekko.http.scaladsl.model.{HttpRequest, Uri}

/** The address at which clients reach APIs: the one by which they reached the controller, unless the operator
  * configures another.
  */
private[http] object GatewayAddress:
  def site(request: HttpRequest): String =
    Uri(scheme = request.uri.scheme, authority = request.uri.authority).toString

  def of(settings: WebSettings, request: HttpRequest, namespace: String, basePath: String): String =
    val start = settings.gatewayUrl.getOrElse(s"${site(request)}/api")
    s"$start/${Tenant.of(namespace)}${basePath.stripSuffix("/")}"
