package burst.invoker.driver
package docker

import java.net.URI
import scala.concurrent.duration.FiniteDuration
import scala.util.Try

/** The keys of `burst.invoker.docker`, explained in `reference.conf`. Memory in MiB. Without a `network`
  * packs are on one of the invoker's own, and isolated.
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
  /** Checked here, since the client would throw arbitrary exceptions, and only when it is created. */
  private def address(text: String): Either[UnreadableSetting, String] =
    Try(URI(text)).toOption.filter(it => Option(it.getScheme).nonEmpty).map(_ => text)
      .toRight(UnreadableSetting(
        text,
        "no address of a daemon",
        "give unix:///run/docker.sock or tcp://HOST:PORT"
      ))

  def read(settings: DriverSettings): DockerSettings = DockerSettings(
    host = settings.optional("host").map(text => settings.parsed("host", address(text))),
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
    parallelism = settings.atLeastOne("parallelism")
  )
