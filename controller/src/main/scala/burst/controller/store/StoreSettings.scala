package burst.controller.store

import burst.controller.blob.{S3Credentials, S3Settings}
import burst.node.SetupException
import com.typesafe.config.Config
import java.net.URI
import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration
import scala.jdk.DurationConverters.*
import scala.util.Try

/** `burst.store` of the configuration. `versions` is how many of each definition are kept, `keysFor` how long
  * a submission's key is kept, `secretsKey` the file of the key that seals secrets.
  */
final case class StoreSettings(
    directory: Path,
    spool: Path,
    readConnections: Int,
    busyTimeout: FiniteDuration,
    flushFlares: Boolean,
    postgres: Option[PostgresSettings],
    s3: Option[S3Settings],
    logLimit: Long,
    phaseLimit: Long,
    retention: Retention,
    versions: Int,
    keysFor: FiniteDuration,
    secretsKey: Path
)

/** How many ended flares of a namespace are kept, for how long, how often the rest is deleted, and how many
  * at a time.
  */
final case class Retention(flares: Int, age: FiniteDuration, interval: FiniteDuration, batch: Int)

object StoreSettings:
  /** Path of the dispatcher for calls that block. */
  val Dispatcher = "burst.store.dispatcher"

  /** Path of the dispatcher for transfers of large data. */
  val TransferDispatcher = "burst.store.transfer-dispatcher"

  /** Reads the settings. Throws `SetupException`. */
  def from(config: Config): StoreSettings =
    val store = config.getConfig("burst.store")
    val retention = store.getConfig("retention")
    val directory = Path.of(store.getString("directory"))
    StoreSettings(
      directory,
      nonEmpty(store, "spool").fold(directory.resolve("spool"))(Path.of(_)),
      atLeastOne(store, "read-connections"),
      store.getDuration("busy-timeout").toScala,
      store.getBoolean("flush-flares"),
      postgres(store.getConfig("postgresql")),
      s3(store.getConfig("s3")),
      store.getBytes("log-limit"),
      store.getLong("phase-limit"),
      Retention(
        retention.getInt("flares"),
        retention.getDuration("age").toScala,
        retention.getDuration("interval").toScala,
        retention.getInt("batch")
      ),
      atLeastOne(store, "retention.versions"),
      retention.getDuration("idempotency-keys").toScala,
      nonEmpty(store, "secrets-key").fold(directory.resolve("secrets.key"))(Path.of(_))
    )

  private def postgres(config: Config): Option[PostgresSettings] =
    nonEmpty(config, "url").map: text =>
      PostgresSettings(
        address(text, "postgresql", "burst.store.postgresql.url", "postgresql://host:port,…/database"),
        config.getString("user"),
        config.getString("password"),
        config.getInt("connections"),
        config.getDuration("connect-timeout").toScala,
        config.getDuration("statement-timeout").toScala
      )

  private def s3(config: Config): Option[S3Settings] =
    nonEmpty(config, "url").map: text =>
      val url = address(text, "s3", "burst.store.s3.url", "s3://bucket/prefix", _.getHost != null)
      val folders = Option(url.getPath).getOrElse("").split('/').filter(_.nonEmpty)
      S3Settings(
        url.getHost,
        folders.map(_ + "/").mkString,
        nonEmpty(config, "endpoint").map(URI(_)),
        config.getString("region"),
        nonEmpty(config, "access-key").map(S3Credentials(_, config.getString("secret-key"))),
        config.getDuration("timeout").toScala
      )

  private def atLeastOne(store: Config, key: String): Int =
    val value = store.getInt(key)
    if value < 1 then throw SetupException(s"burst.store.$key is $value: give 1 or more.")
    value

  private def nonEmpty(config: Config, key: String): Option[String] =
    Some(config.getString(key)).filter(_.nonEmpty)

  // Java's URI does not parse an authority of several hosts.
  private val Host = """(\[[0-9a-fA-F:.]+]|[A-Za-z0-9._-]+)(:\d{1,5})?""".r

  /** Reads an address. It appears in logs and messages, so it must not contain a secret, and a wrong one is
    * not repeated.
    */
  private def address(
      text: String,
      scheme: String,
      key: String,
      form: String,
      more: URI => Boolean = _ => true
  ): URI =
    Try(URI(text)).toOption
      .filter(url => url.getScheme == scheme && more(url))
      .filter(url => Option(url.getRawAuthority).exists(_.split(",", -1).forall(Host.matches)))
      .filterNot(url => Option(url.getQuery).exists(_.toLowerCase.contains("password=")))
      .getOrElse(throw SetupException(s"$key must be $form, with user and password elsewhere."))
