package burst.controller.http

import com.typesafe.config.Config

/** How much of the API strangers may use: `burst.http.web`, and the limits on the bodies they send.
  *
  * @param domain
  *   the domain below which each namespace has a host of its own
  * @param gatewayUrl
  *   where clients reach the API gateway, if not where they reach this controller
  */
final case class WebSettings(
    bodies: BodyIntake.Settings,
    requestsPerMinute: Int,
    concurrentRequests: Int,
    missesPerMinute: Int,
    jsonValues: Int,
    domain: Option[String],
    gatewayUrl: Option[String]
)

object WebSettings:
  def from(web: Config, bodies: BodyIntake.Settings): WebSettings =
    def text(key: String) = Option(web.getString(key)).filter(_.nonEmpty)
    WebSettings(
      bodies,
      requestsPerMinute = web.getInt("requests-per-minute"),
      concurrentRequests = web.getInt("concurrent-requests"),
      missesPerMinute = web.getInt("misses-per-minute"),
      jsonValues = web.getInt("json-values-limit"),
      domain = text("domain").map(_.toLowerCase(java.util.Locale.ROOT)),
      text("gateway-url").map(_.stripSuffix("/"))
    )
