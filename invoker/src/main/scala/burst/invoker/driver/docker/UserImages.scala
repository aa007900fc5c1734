package burst.invoker.driver
package docker

import com.github.dockerjava.api.async.ResultCallback
import com.github.dockerjava.api.command.InspectImageResponse
import com.github.dockerjava.api.exception.NotFoundException
import com.github.dockerjava.api.model.PullResponseItem
import io.circe.Encoder
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import org.slf4j.LoggerFactory
import scala.concurrent.duration.FiniteDuration
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.Try
import scala.util.control.NonFatal

/** An image of a user's own: what is started in it, with which variables, and what it wants to write to. */
private[driver] final case class UserImage(
    id: String,
    command: Vector[String],
    directory: String,
    environment: Map[String, String],
    volumes: Vector[String]
)

private[driver] object UserImage:
  /** As the runtime in its container is told. */
  given Encoder[UserImage] =
    Encoder.forProduct3("command", "directory", "environment")(image =>
      (image.command, image.directory, image.environment)
    )

/** Images of users' own. None is trusted, nor is where it comes from: it may never come, or never end.
  *
  * One that is there is not asked for again: whoever wants the next one gives it another tag. Pulls take no
  * thread of those that other packs' calls need. Which were pulled is noted in `file`, so that they make room
  * for others.
  */
private[driver] final class UserImages(settings: ImageSettings, daemon: DockerDaemon, file: Path)(using
    ExecutionContext
):
  import UserImages.*

  private val log = LoggerFactory.getLogger(classOf[UserImages])
  private val pulls = ConcurrentHashMap[String, Future[Either[String, Unit]]]()
  private val kept = PulledImages(file, settings.disk << 20, remove)

  /** The image of this name, which is pulled where it is not there; or why there is none. */
  def find(name: String): Future[Either[String, UserImage]] =
    if !settings.allowed.exists(name.startsWith) then
      val places = settings.allowed.mkString("'", "', '", "'")
      Future.successful(Left(s"images here begin with $places"))
    else
      val reference = withTag(name)
      Future(inspect(reference)).flatMap:
        case Some(found) =>
          kept.want(reference)
          Future.successful(accept(found))
        case None =>
          pulled(reference).map(_.flatMap: _ =>
            inspect(reference).toRight("it was pulled, and is not there").flatMap(keep(reference, _)))
      .recover { case NonFatal(problem) => Left(DockerDriver.reason(problem)) }

  private def inspect(reference: String): Option[InspectImageResponse] =
    try Some(daemon.calls.inspectImageCmd(reference).exec())
    catch case _: NotFoundException => None

  private def keep(reference: String, found: InspectImageResponse): Either[String, UserImage] =
    kept.add(reference, size(found))
    val accepted = accept(found)
    if accepted.isLeft then kept.drop(reference)
    accepted

  private def size(found: InspectImageResponse): Long = Option(found.getSize).fold(0L)(_.longValue)

  /** Whether it is gone: the daemon keeps what a container has. */
  private def remove(reference: String): Boolean =
    try
      daemon.calls.removeImageCmd(reference).exec()
      log.info("image {} is removed, as others take its room", reference)
      true
    catch
      case _: NotFoundException => true
      case NonFatal(problem) =>
        log.info("image {} stays: {}", reference, DockerDriver.reason(problem))
        false

  private def accept(found: InspectImageResponse): Either[String, UserImage] =
    val mebibytes = size(found) >> 20
    val image = of(found)
    if mebibytes > settings.size then
      Left(s"it has $mebibytes MiB, more than the ${settings.size} of this platform")
    else if image.volumes.sizeIs > MostVolumes then Left(s"it has more than $MostVolumes volumes")
    else Right(image)

  /** All who want the same image wait for one pull. */
  private def pulled(reference: String): Future[Either[String, Unit]] =
    val ended = Promise[Either[String, Unit]]()
    Option(pulls.putIfAbsent(reference, ended.future)).getOrElse:
      ended.future.onComplete(_ => pulls.remove(reference))
      try
        val pull = Pull(settings.size << 20, ended)
        daemon.pull(reference, pull)
        Delay.after(settings.pullTimeout):
          if ended.trySuccess(Left(s"it could not be pulled within ${settings.pullTimeout}")) then
            log.warn("image {} could not be pulled within {}", reference, settings.pullTimeout)
            val _ = Try(pull.close())
      catch
        case NonFatal(problem) =>
          val _ = ended.trySuccess(Left(DockerDriver.reason(problem)))
      ended.future

  /** Breaks off what becomes too large. */
  private final class Pull(most: Long, ended: Promise[Either[String, Unit]])
      extends ResultCallback.Adapter[PullResponseItem]:
    private var layers = Map.empty[String, Long]

    override def onNext(item: PullResponseItem): Unit =
      for error <- Option(item.getErrorDetail).flatMap(detail => Option(detail.getMessage)) do
        val _ = ended.trySuccess(Left(error.take(MostReason)))
      for
        id <- Option(item.getId)
        total <- Option(item.getProgressDetail).flatMap(detail => Option(detail.getTotal))
      do layers = layers.updated(id, total.longValue)
      if layers.values.sum > most || layers.size > MostLayers then
        val _ = ended.trySuccess(Left(s"it has more than ${most >> 20} MiB, or more than $MostLayers layers"))
        close()

    override def onError(problem: Throwable): Unit =
      val _ = ended.trySuccess(Left(DockerDriver.reason(problem)))
      super.onError(problem)

    override def onComplete(): Unit =
      val _ = ended.trySuccess(Right(()))
      super.onComplete()

private[driver] object UserImages:
  private val MostVolumes = 16

  /** Docker's own bound of an image. */
  private val MostLayers = 127
  private val MostReason = 500

  /** Docker would pull all tags of a name without one. */
  def withTag(name: String): String =
    val last = name.drop(name.lastIndexOf('/') + 1)
    if last.contains(':') || last.contains('@') then name else s"$name:latest"

  def of(found: InspectImageResponse): UserImage =
    val config = Option(found.getConfig)
    def words(get: com.github.dockerjava.api.model.ContainerConfig => Array[String]) =
      config.flatMap(it => Option(get(it))).fold(Vector.empty[String])(_.toVector)
    val variables = words(_.getEnv).map: variable =>
      val (name, value) = variable.span(_ != '=')
      name -> value.drop(1)
    UserImage(
      found.getId,
      words(_.getEntrypoint) ++ words(_.getCmd),
      config.flatMap(it => Option(it.getWorkingDir)).filter(_.nonEmpty).getOrElse("/"),
      variables.toMap,
      config.flatMap(it => Option(it.getVolumes)).fold(Vector.empty)(_.asScala.keys.toVector.sorted)
    )

/** Which images of users' own there may be: those whose names begin in one of these ways, of so many MiB each
  * and, those that were pulled, together.
  */
final case class ImageSettings(allowed: Vector[String], size: Long, disk: Long, pullTimeout: FiniteDuration)

object ImageSettings:
  def read(settings: DriverSettings): ImageSettings = ImageSettings(
    allowed = settings.strings("images"),
    size = settings.long("image-size"),
    disk = settings.long("images-disk"),
    pullTimeout = settings.duration("pull-timeout")
  )
