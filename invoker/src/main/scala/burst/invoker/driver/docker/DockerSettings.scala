package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

/** A directory of the machine that every container sees, as the operator configured it. */
final case class Mount(source: String, target: String, readOnly: Boolean)

object Mount:
  /** Reads `/host/path:/container/path[:ro|rw]`; writable is the default, as everywhere with Docker. */
  def parse(text: String): Either[String, Mount] = text.split(':').toList match
    case source :: target :: mode if source.startsWith("/") && target.startsWith("/") =>
      mode match
        case List("ro") => Right(Mount(source, target, readOnly = true))
        case Nil | List("rw") => Right(Mount(source, target, readOnly = false))
        case _ => refused(text)
    case _ => refused(text)

  private def refused(text: String) =
    Left(s"'$text' is not a mount: write /host/path:/container/path, with :ro or :rw after it")

/** The keys of `burst.invoker.docker`, explained in `reference.conf`. Memory in MiB. Without a `network`
  * packs are on one of their own, and isolated.
  */
final case class DockerSettings(
    host: Option[String],
    image: String,
    network: Option[String],
    reachable: Vector[String],
    notInternet: Vector[String],
    mounts: Vector[Mount],
    limits: LimitSettings,
    tmpSize: Int,
    descriptors: Long,
    users: UserRange,
    group: Long,
    callTimeout: FiniteDuration,
    startTimeout: FiniteDuration,
    parallelism: Int
)

object DockerSettings:
  def read(settings: DriverSettings): DockerSettings = DockerSettings(
    host = settings.optional("host"),
    image = settings.string("image"),
    network = settings.optional("network"),
    reachable = settings.strings("reachable"),
    notInternet = settings.strings("not-internet"),
    mounts = settings.strings("mounts").map(text => settings.parsed("mounts", Mount.parse(text))),
    limits = LimitSettings.read(settings),
    tmpSize = settings.int("tmp-size"),
    descriptors = settings.long("descriptors"),
    users = settings.parsed("users", UserRange.parse(settings.string("users"))),
    group = settings.long("group"),
    callTimeout = settings.duration("call-timeout"),
    startTimeout = settings.duration("start-timeout"),
    parallelism = settings.int("parallelism")
  )
