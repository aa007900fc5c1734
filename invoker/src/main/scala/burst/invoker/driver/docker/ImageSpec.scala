package burst.invoker.driver
package docker

import com.github.dockerjava.api.command.CreateContainerCmd
import com.github.dockerjava.api.model.{AccessMode, Bind, HealthCheck, HostConfig, Volume}
import io.circe.Encoder
import io.circe.syntax.*
import java.nio.file.Path
import scala.jdk.CollectionConverters.*

/** An image of a user's own: its command, its variables, and the directories that it writes to. */
private[driver] final case class UserImage(
    id: String,
    command: Vector[String],
    directory: String,
    environment: Map[String, String],
    volumes: Vector[String]
)

private[driver] object UserImage:
  /** The form that the runtime in its container receives. */
  given Encoder[UserImage] =
    Encoder.forProduct3("command", "directory", "environment")(image =>
      (image.command, image.directory, image.environment)
    )

/** A container of a user's own image, in which the runtime is the first process and starts the image's
  * command: isolated like any pack, and without anything of the image's in its runtime. `files` is where this
  * machine has the runtime.
  */
private[driver] final case class ImageSpec(image: UserImage, files: Path):
  import ImageSpec.*

  def fill(command: CreateContainerCmd, host: HostConfig, variables: Vector[String]): Unit =
    // The image's volumes, like /tmp, are memory as well, and go with the container.
    val volumes = image.volumes.map(_ -> Scratch).toMap
    host.withTmpFs((volumes ++ host.getTmpFs.asScala).asJava)
    host.withBinds((host.getBinds.toVector ++ binds).asJava)
    val _ = command
      .withEntrypoint(RuntimeFiles.EntryPoint.asJava)
      .withCmd(ContainerSpec.Serve.asJava)
      .withWorkingDir("/")
      .withEnv((variables ++ hidden :+ s"$Variable=${image.asJson.noSpaces}").asJava)
      .withHealthcheck(HealthCheck().withTest(List("NONE").asJava))
      .withHostConfig(host)

  private def binds = Vector(
    Bind(files.toString, Volume(RuntimeFiles.MountPoint), AccessMode.ro),
    Bind("/dev/null", Volume(RuntimeFiles.Preloaded), AccessMode.ro)
  )

  /** Variables kept from the runtime; the image's program gets them all the same. */
  private def hidden =
    val names = image.environment.keys.toVector.filter(RuntimeFiles.isReserved)
    names.filterNot(Set(Variable, RuntimeAddress.TokenVariable)).map(name => s"$name=")

private object ImageSpec:
  /** The variable by which the runtime receives the image's settings. */
  val Variable = "BURST_IMAGE"

  private val Scratch = "rw,noexec,nosuid,nodev,mode=1777,size=64m"
