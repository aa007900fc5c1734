package burst.invoker.driver
package docker

import com.github.dockerjava.api.command.InspectImageResponse
import com.github.dockerjava.api.exception.NotFoundException
import java.io.InterruptedIOException
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicReference
import org.slf4j.LoggerFactory
import scala.concurrent.duration.{Deadline, DurationInt, FiniteDuration}
import scala.concurrent.{ExecutionContext, Future, Promise}
import scala.jdk.CollectionConverters.*
import scala.util.Try
import scala.util.control.NonFatal

/** Users' own images. Neither they nor their registries are trusted: a pull may never begin, or never end.
  *
  * An image that exists is not pulled again: a new version needs another tag. One that was refused is not
  * pulled again for a while. Pulls take no thread that other packs' calls need. Pulled images are recorded in
  * `file`, so that they can make room for others.
  */
private[driver] final class UserImages(settings: ImageSettings, daemon: DockerDaemon, file: Path)(using
    ExecutionContext
):
  import UserImages.*

  private val log = LoggerFactory.getLogger(classOf[UserImages])
  private val pulls = ConcurrentHashMap[String, Future[Either[ImageProblem, UserImage]]]()
  private val refusals = AtomicReference(Vector.empty[Refusal])
  private val freed = AtomicReference(Deadline.now - RefusedFor)
  private val most = settings.size << 20
  private val pull = ImagePull(daemon, most, settings.pullTimeout)
  private val pulledImages = PulledImages(file, settings.disk << 20, Store)

  /** Returns the image of this name, which is pulled if it does not exist; or the reason why there is none.
    */
  def find(name: String): Future[Either[ImageProblem, UserImage]] =
    if !settings.allowed.exists(name.startsWith) then
      Future.successful(Left(ImageProblem.NotAllowed(settings.allowed)))
    else
      val reference = withTag(name)
      Future(inspect(reference)).flatMap:
        case Some(found) =>
          pulledImages.recordUse(reference)
          Future.successful(accept(found))
        case None => refusal(reference).fold(pulled(reference))(it => Future.successful(Left(it)))
      .recover { case NonFatal(problem) => Left(ImageProblem.Refused(DockerDriver.reason(problem))) }

  /** Whether it has been removed since it was found. Blocks. */
  def isRemoved(image: UserImage): Boolean = Try(inspect(image.id)).toOption.exists(_.isEmpty)

  def close(): Unit = pulledImages.close()

  private def inspect(reference: String): Option[InspectImageResponse] =
    try Some(daemon.calls.inspectImageCmd(reference).exec())
    catch case _: NotFoundException => None

  private def accept(found: InspectImageResponse): Either[ImageProblem, UserImage] =
    val mebibytes = stored(found).bytes >> 20
    val image = of(found)
    if mebibytes > settings.size then Left(ImageProblem.TooLarge(mebibytes, settings.size))
    else if image.volumes.sizeIs > MostVolumes then Left(ImageProblem.TooManyVolumes(MostVolumes))
    else Right(image)

  /** All requests for the same image wait for one pull, whose outcome is evaluated once. */
  private def pulled(reference: String): Future[Either[ImageProblem, UserImage]] =
    val ended = Promise[Either[ImageProblem, UserImage]]()
    Option(pulls.putIfAbsent(reference, ended.future)).getOrElse:
      ended.future.onComplete(_ => pulls.remove(reference))
      val deadline = settings.pullTimeout.fromNow
      pulledImages.expect(reference)
      val outcome = pull.start(reference, deadline).flatMap:
        case full @ Left(_: ImageProblem.DiskFull) if mayFree() =>
          log.warn("image {} finds no room on the disk: others go that nobody uses", reference)
          val freed = pulledImages.free(most)
          freed.flatMap(if _ then pull.start(reference, deadline) else Future.successful(full))
        case other => Future.successful(other)
      ended.completeWith(outcome.flatMap(evaluated(reference, _))).future

  /** Limits removals: registries can also cause a full disk, with one name after another. */
  private def mayFree(): Boolean =
    val now = Deadline.now
    freed.getAndUpdate(last => if last + RefusedFor <= now then now else last) + RefusedFor <= now

  private def evaluated(
      reference: String,
      ended: Either[ImageProblem, Unit]
  ): Future[Either[ImageProblem, UserImage]] = ended match
    case Right(()) =>
      inspect(reference).fold(notPulled(reference, ImageProblem.Missing))(keep(reference, _))
    case Left(problem: ImageProblem.TooLargeToPull) => tooLarge(reference, problem)
    case Left(problem: ImageProblem.DiskFull) =>
      refuse(reference, problem)
      notPulled(reference, problem)
    case Left(problem) => notPulled(reference, problem)

  /** Keeps an image if it is acceptable. One that is dropped itself causes no other image to be removed. */
  private def keep(reference: String, found: InspectImageResponse): Future[Either[ImageProblem, UserImage]] =
    accept(found) match
      case Left(problem) =>
        refuse(reference, problem)
        pulledImages.drop(reference, stored(found)).map(_ => Left(problem))
      case accepted => pulledImages.add(reference, stored(found)).map(_ => accepted)

  /** The daemon may have finished the pull when it was cancelled, or may do so a little later. */
  private def tooLarge(reference: String, problem: ImageProblem): Future[Either[ImageProblem, UserImage]] =
    refuse(reference, problem)
    inspect(reference) match
      case Some(found) => pulledImages.drop(reference, stored(found)).map(_ => Left(problem))
      case None =>
        Delay.after(Stopping):
          try
            inspect(reference) match
              case Some(found) => pulledImages.drop(reference, stored(found)): Unit
              case None => pulledImages.settle(reference)
          catch
            case NonFatal(unknown) =>
              log.warn("it is not known whether {} is there: {}", reference, DockerDriver.reason(unknown))
        Future.successful(Left(problem))

  private def notPulled(reference: String, problem: ImageProblem): Future[Either[ImageProblem, UserImage]] =
    pulledImages.settle(reference)
    Future.successful(Left(problem))

  private def refuse(reference: String, problem: ImageProblem): Unit =
    val _ = refusals.updateAndGet: others =>
      (others.filterNot(_.reference == reference) :+ Refusal(reference, problem, RefusedFor.fromNow))
        .takeRight(MostRefusals)

  private def refusal(reference: String): Option[ImageProblem] =
    refusals.get.find(it => it.reference == reference && it.until.hasTimeLeft()).map(_.problem)

  private object Store extends ImageStore:
    def find(reference: String): Option[StoredImage] = inspect(reference).map(stored)

    def remove(reference: String): Removal =
      try
        daemon.calls.removeImageCmd(reference).exec()
        log.info("image {} is removed", reference)
        Removal.Removed
      catch
        case _: NotFoundException => Removal.Removed
        case NonFatal(problem) =>
          log.info("image {} stays for now: {}", reference, DockerDriver.reason(problem))
          if isTimeout(problem) then Removal.InProgress else Removal.InUse

private[driver] object UserImages:
  private val MostVolumes = 16

  /** Longer than a daemon takes to cancel a pull. */
  private val Stopping = 10.seconds

  /** How long, and how many, refused images are not pulled again. */
  private val RefusedFor = 5.minutes
  private val MostRefusals = 100

  private final case class Refusal(reference: String, problem: ImageProblem, until: Deadline)

  private def stored(found: InspectImageResponse): StoredImage =
    StoredImage(found.getId, Option(found.getSize).fold(0L)(_.longValue))

  private def isTimeout(problem: Throwable): Boolean =
    Iterator.iterate(problem)(_.getCause).takeWhile(_ != null).exists(_.isInstanceOf[InterruptedIOException])

  /** Without a tag Docker would pull all tags of a name. */
  def withTag(name: String): String =
    val last = name.drop(name.lastIndexOf('/') + 1)
    if last.contains(':') || last.contains('@') then name else s"$name:latest"

  def of(found: InspectImageResponse): UserImage =
    val config = Option(found.getConfig)
    def strings(get: com.github.dockerjava.api.model.ContainerConfig => Array[String]) =
      config.flatMap(it => Option(get(it))).fold(Vector.empty[String])(_.toVector)
    val variables = strings(_.getEnv).map: variable =>
      val (name, value) = variable.span(_ != '=')
      name -> value.drop(1)
    UserImage(
      found.getId,
      strings(_.getEntrypoint) ++ strings(_.getCmd),
      config.flatMap(it => Option(it.getWorkingDir)).filter(_.nonEmpty).getOrElse("/"),
      variables.toMap,
      config.flatMap(it => Option(it.getVolumes)).fold(Vector.empty)(_.asScala.keys.toVector.sorted)
    )

/** Which images of users' own are allowed: those whose names begin in one of these ways, with at most `size`
  * MiB each and, for pulled ones, `disk` MiB together.
  */
final case class ImageSettings(allowed: Vector[String], size: Long, disk: Long, pullTimeout: FiniteDuration)

object ImageSettings:
  def read(settings: DriverSettings): ImageSettings = ImageSettings(
    allowed = settings.strings("images"),
    size = settings.long("image-size"),
    disk = settings.long("images-disk"),
    pullTimeout = settings.duration("pull-timeout")
  )
