package burst.controller.builtin

import com.typesafe.config.Config

/** The URL by which clients reach the platform, without a trailing slash: the configured one, else the
  * address it listens on. The port may not be known in advance: 0 stands for any free one.
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
