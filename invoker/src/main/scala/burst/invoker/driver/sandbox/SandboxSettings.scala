package burst.invoker.driver
package sandbox

import burst.node.SetupException
import java.nio.file.{Files, Path}
import scala.concurrent.duration.FiniteDuration

/** The keys of `burst.invoker.sandbox`, explained in `reference.conf`. Memory in MiB. */
final case class SandboxSettings(
    root: Option[String],
    glibc: Option[String],
    notInternet: Vector[String],
    mounts: Vector[Mount],
    environment: Vector[String],
    limits: LimitSettings,
    program: ProgramMemory,
    tmpSize: Int,
    shmSize: Int,
    descriptors: Long,
    users: UserRange,
    unpackTimeout: FiniteDuration,
    startTimeout: FiniteDuration,
    stopGrace: FiniteDuration,
    answerTimeout: FiniteDuration,
    connectTimeout: FiniteDuration
)

object SandboxSettings:
  def read(settings: DriverSettings): SandboxSettings =
    val (root, glibc) = (settings.optional("root"), settings.optional("glibc"))
    if root.isEmpty && glibc.nonEmpty then
      throw SetupException(
        "burst.invoker.sandbox.glibc is that of a root: give burst.invoker.sandbox.root, too."
      )
    val mounts = Mount.read(settings)
    for mount <- mounts if !Files.isDirectory(Path.of(mount.source)) do
      throw SetupException(
        s"burst.invoker.sandbox.mounts: ${mount.source} is no directory that this user sees."
      )
    SandboxSettings(
      root = root,
      glibc = glibc,
      notInternet = settings.strings("not-internet"),
      mounts = mounts,
      environment = settings.strings("environment"),
      limits = LimitSettings.read(settings),
      program = ProgramMemory.read(settings),
      tmpSize = settings.int("tmp-size"),
      shmSize = settings.int("shm-size"),
      descriptors = settings.long("descriptors"),
      users = settings.parsed("users", UserRange.parse(settings.string("users"))),
      unpackTimeout = settings.duration("unpack-timeout"),
      startTimeout = settings.duration("start-timeout"),
      stopGrace = settings.duration("stop-grace"),
      answerTimeout = settings.duration("answer-timeout"),
      connectTimeout = settings.duration("connect-timeout")
    )
