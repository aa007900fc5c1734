package burst.invoker.driver
package docker

import io.circe.syntax.*
import io.circe.{parser, Codec}
import java.io.IOException
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{CREATE, SYNC, TRUNCATE_EXISTING, WRITE}
import java.nio.file.{Files, NoSuchFileException, Path}
import java.util.concurrent.Executors
import java.util.concurrent.atomic.AtomicReference
import org.slf4j.LoggerFactory
import scala.annotation.tailrec
import scala.concurrent.{ExecutionContext, Future}
import scala.util.control.NonFatal

/** The images that this invoker had pulled, and no other's. When they have more than `most` bytes together
  * those go that were wanted longest ago. One that a container has stays, as does what somebody else has put
  * under the name of one since.
  *
  * They are noted in `file` for the invoker's next life, each before it is pulled: one that nobody has noted
  * would never go. They are removed one at a time on a thread of their own, as that may take the daemon long.
  */
private[driver] final class PulledImages(file: Path, most: Long, store: ImageStore):
  import PulledImages.*

  private val log = LoggerFactory.getLogger(classOf[PulledImages])

  private val thread = Executors.newSingleThreadExecutor: task =>
    val made = Thread(task, "burst-images")
    made.setDaemon(true)
    made
  private given ExecutionContext = ExecutionContext.fromExecutor(thread)

  /** Whichever was wanted last is last. No lock: the start of a container must not wait for removals. */
  private val known = AtomicReference(read().flatMap(settled))

  /** One that is about to be pulled. */
  def expect(reference: String): Unit = note(reference)(_ :+ Pulled(reference, None, 0))

  /** One whose pull came to nothing, unless it is there all the same. */
  def settle(reference: String): Unit =
    val found = settled(Pulled(reference, None, 0))
    note(reference)(_ ++ found)

  /** One that has been pulled, which is wanted more than all others; when there is room for it. */
  def add(reference: String, image: StoredImage): Future[Unit] =
    note(reference)(_ :+ Pulled(reference, Some(image.id), image.bytes))
    Future:
      val _ = evict(known.get.map(_.bytes).sum - most, Set(reference))

  /** One that was pulled for nothing goes, and no other for it. */
  def drop(reference: String, image: StoredImage): Future[Unit] =
    val unwanted = Pulled(reference, Some(image.id), image.bytes)
    note(reference)(unwanted +: _)
    Future:
      val _ = removed(unwanted)

  /** One that is used again, whoever had it pulled. */
  def want(reference: String): Unit =
    val _ = known.updateAndGet: images =>
      val (wanted, others) = images.partition(_.reference == reference)
      others ++ wanted

  /** Has so many bytes go, whatever room there is, as the disk has none; says whether any did. */
  def free(bytes: Long): Future[Boolean] = Future(evict(bytes, Set.empty) > 0)

  /** What is being removed is left to the daemon. */
  def close(): Unit =
    val _ = thread.shutdownNow()

  /** How many bytes are gone or going, of those that are not `spared`. */
  @tailrec private def evict(bytes: Long, spared: Set[String], freed: Long = 0): Long =
    known.get.find(image => image.id.isDefined && !spared(image.reference)) match
      case Some(image) if freed < bytes && !thread.isShutdown =>
        evict(bytes, spared + image.reference, freed + removed(image))
      case _ => freed

  /** How many bytes go with it. What is going still counts until it is seen to be gone. */
  private def removed(image: Pulled): Long =
    try
      val own = store.find(image.reference).exists(found => image.id.contains(found.id))
      val removal = if own then store.remove(image.reference) else Removal.Gone
      if removal == Removal.Gone then change(_.filterNot(_ == image))
      if removal == Removal.Stays then 0 else image.bytes
    catch
      case NonFatal(problem) =>
        log.warn("image {} cannot be removed: {}", image.reference, DockerDriver.reason(problem))
        0

  /** What became of one that was being pulled. */
  private def settled(image: Pulled): Option[Pulled] =
    if image.id.isDefined then Some(image)
    else
      try store.find(image.reference).map(found => Pulled(image.reference, Some(found.id), found.bytes))
      catch
        case NonFatal(problem) =>
          log.warn("it is not known whether {} is there: {}", image.reference, DockerDriver.reason(problem))
          Some(image)

  private def note(reference: String)(add: Vector[Pulled] => Vector[Pulled]): Unit =
    change(images => add(images.filterNot(_.reference == reference)))

  private def change(to: Vector[Pulled] => Vector[Pulled]): Unit =
    known.updateAndGet(to(_))
    write()

  private def read(): Vector[Pulled] =
    try
      parser
        .decode[Vector[Pulled]](Files.readString(file))
        .fold(problem => throw IOException(problem), identity)
    catch
      case _: NoSuchFileException => Vector.empty
      case problem: IOException =>
        log.warn("it is not known which images were pulled, and none of them goes: {}", problem.getMessage)
        Vector.empty

  /** One at a time, so that the newest is last. It is on the disk before it has its name: a failure of power
    * leaves what was there, or what is.
    */
  private def write(): Unit = synchronized:
    try
      Files.createDirectories(file.getParent)
      val fresh = file.resolveSibling(s"${file.getFileName}.new")
      Files.writeString(fresh, known.get.asJson.noSpaces, CREATE, TRUNCATE_EXISTING, WRITE, SYNC)
      val _ = Files.move(fresh, file, ATOMIC_MOVE)
    catch
      case problem: IOException =>
        log.warn("which images were pulled cannot be noted in {}: {}", file, problem.getMessage)

private[driver] object PulledImages:
  /** Without an id it is being pulled. */
  private final case class Pulled(reference: String, id: Option[String], bytes: Long) derives Codec

private[driver] final case class StoredImage(id: String, bytes: Long)

/** Where images are. Calls block, and throw where it does not answer. */
private[driver] trait ImageStore:
  def find(reference: String): Option[StoredImage]
  def remove(reference: String): Removal

private[driver] enum Removal:
  case Gone

  /** It takes longer than one waits for it. */
  case Going

  /** Somebody uses it. */
  case Stays
