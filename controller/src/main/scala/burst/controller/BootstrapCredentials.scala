package burst.controller

import burst.controller.http.{AdminKey, OwnCertificate}
import burst.node.DataDirectory
import com.typesafe.config.{Config, ConfigValueFactory}

/** The credentials of the user who starts a controller, as the first user and as the administrator: read from
  * the data directory, and written there. `config` contains the administrator's key, and the platform's own
  * certificate if one is configured.
  */
final class BootstrapCredentials private (data: DataDirectory, adminKey: String, val config: Config):
  /** Returns the credentials of the namespace `guest`, as an earlier start wrote them. */
  def guest: Option[String] = data.property("AUTH")

  /** Writes credentials that are valid; none for `guest` if none are known. */
  def write(url: String, credentials: Option[String]): Unit = data.writeProperties(
    Vector("APIHOST" -> url) ++ credentials.map("AUTH" -> _) ++
      Option.when(
        config.getBoolean(OwnCertificate.Setting)
      )("CACERT" -> OwnCertificate.file(data).toString) :+
      ("ADMIN_AUTH" -> s"${AdminKey.User}:$adminKey")
  )

object BootstrapCredentials:
  /** Uses the configured administrator's key, else the one that an earlier start made, else a fresh one. */
  def of(config: Config, data: DataDirectory): BootstrapCredentials =
    val key = Some(config.getString(AdminKey.Setting))
      .filter(_.nonEmpty)
      .orElse(data.property("ADMIN_AUTH").collect { case s"${AdminKey.User}:$key" => key })
      .getOrElse(AdminKey.random())
    val keyed = config.withValue(AdminKey.Setting, ConfigValueFactory.fromAnyRef(key))
    BootstrapCredentials(data, key, OwnCertificate.in(keyed, data))
