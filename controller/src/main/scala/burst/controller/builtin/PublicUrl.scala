package burst.controller.builtin

import com.typesafe.config.Config

/** Where clients reach the platform, without a slash at its end: as its operator says, else where it listens.
  * Which port that is may not be known before: 0 is any that is free.
  */
final class PublicUrl private (at: Int => String, port: Int):
  @volatile private var url = at(port)

  def apply(): String = url

  def listensOn(port: Int): Unit = url = at(port)

object PublicUrl:
  def of(config: Config): PublicUrl =
    val http = config.getConfig("burst.http")
    val tls = http.getConfig("tls")
    val isSecured =
      tls.getBoolean("own") || Seq("certificate", "keystore").exists(key => tls.getString(key).nonEmpty)
    val scheme = if isSecured then "https" else "http"
    val host = http.getString("host")
    val told = Option(http.getString("public-url")).filter(_.nonEmpty).map(_.stripSuffix("/"))
    PublicUrl(port => told.getOrElse(s"$scheme://$host:$port"), http.getInt("port"))
