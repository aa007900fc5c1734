package burst.controller.builtin

import com.typesafe.config.Config

/** Where clients reach the platform, without a slash at its end: as its operator says, else where it listens.
  */
object PublicUrl:
  def of(config: Config): String =
    val http = config.getConfig("burst.http")
    val tls = http.getConfig("tls")
    val isSecured =
      tls.getBoolean("own") || Seq("certificate", "keystore").exists(key => tls.getString(key).nonEmpty)
    val scheme = if isSecured then "https" else "http"
    val own = s"$scheme://${http.getString("host")}:${http.getInt("port")}"
    Option(http.getString("public-url")).filter(_.nonEmpty).getOrElse(own).stripSuffix("/")
