package burst.controller

import burst.controller.http.{AdminKey, OwnCertificate}
import burst.node.DataDirectory
import com.typesafe.config.{Config, ConfigValueFactory}

/** The credentials of whoever starts a controller, as the first user and as the administrator: found in the
  * data directory, and written there. `config` has the administrator's key, and the certificate that the
  * platform has made itself if it is to have one.
  */
final class BootstrapCredentials private (data: DataDirectory, adminKey: String, val config: Config):
  /** Of the namespace `guest`, as an earlier start wrote them. */
  def guest: Option[String] = data.property("AUTH")

  /** What is written opens something: without good credentials of `guest` there are none. */
  def write(url: String, credentials: Option[String]): Unit = data.writeProperties(
    Vector("APIHOST" -> url) ++ credentials.map("AUTH" -> _) ++
      Option.when(
        config.getBoolean(OwnCertificate.Setting)
      )("CACERT" -> OwnCertificate.file(data).toString) :+
      ("ADMIN_AUTH" -> s"${AdminKey.User}:$adminKey")
  )

object BootstrapCredentials:
  /** The administrator's key is as configured, else the one that an earlier start made, else a fresh one. */
  def of(config: Config, data: DataDirectory): BootstrapCredentials =
    val key = Some(config.getString(AdminKey.Setting))
      .filter(_.nonEmpty)
      .orElse(data.property("ADMIN_AUTH").collect { case s"${AdminKey.User}:$key" => key })
      .getOrElse(AdminKey.random())
    val keyed = config.withValue(AdminKey.Setting, ConfigValueFactory.fromAnyRef(key))
    BootstrapCredentials(data, key, OwnCertificate.in(keyed, data))
