package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

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
    images: ImageSettings,
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
    mounts = Mount.read(settings),
    images = ImageSettings.read(settings),
    limits = LimitSettings.read(settings),
    tmpSize = settings.int("tmp-size"),
    descriptors = settings.long("descriptors"),
    users = settings.parsed("users", UserRange.parse(settings.string("users"))),
    group = settings.long("group"),
    callTimeout = settings.duration("call-timeout"),
    startTimeout = settings.duration("start-timeout"),
    parallelism = settings.int("parallelism")
  )
