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

/** The images that this invoker, and no other, had pulled. When they exceed `most` bytes together, those not
  * requested for longest are removed. An image that a container uses stays, and so does one that somebody
  * else has since put under the same name.
  *
  * They are recorded in `file` for the invoker's next process, each before it is pulled: an unrecorded one
  * would never be removed. They are removed one at a time on a separate thread, as that can take the daemon
  * long.
  */
private[driver] final class PulledImages(file: Path, most: Long, store: ImageStore):
  import PulledImages.*

  private val log = LoggerFactory.getLogger(classOf[PulledImages])

  private val thread = Executors.newSingleThreadExecutor: task =>
    val made = Thread(task, "burst-images")
    made.setDaemon(true)
    made
  private given ExecutionContext = ExecutionContext.fromExecutor(thread)

  /** The most recently requested is last. No lock: the start of a container must not wait for removals. */
  private val known = AtomicReference(read().flatMap(settled))

  /** Records an image that is about to be pulled. */
  def expect(reference: String): Unit = record(reference)(_ :+ Pulled(reference, None, 0))

  /** Forgets an image whose pull failed, unless it exists all the same. */
  def settle(reference: String): Unit =
    val found = settled(Pulled(reference, None, 0))
    record(reference)(_ ++ found)

  /** Records an image that has been pulled, as the most recently requested; completes when there is room for
    * it.
    */
  def add(reference: String, image: StoredImage): Future[Unit] =
    record(reference)(_ :+ Pulled(reference, Some(image.id), image.bytes))
    Future:
      val _ = evict(known.get.map(_.bytes).sum - most, Set(reference))

  /** Removes an image that was pulled in vain; no other is removed for it. */
  def drop(reference: String, image: StoredImage): Future[Unit] =
    val pulled = Pulled(reference, Some(image.id), image.bytes)
    record(reference)(pulled +: _)
    Future:
      val _ = removed(pulled)

  /** Records a further use of an image, whoever had it pulled. */
  def recordUse(reference: String): Unit =
    val _ = known.updateAndGet: images =>
      val (used, others) = images.partition(_.reference == reference)
      others ++ used

  /** Removes images of at least this many bytes, whatever their limit, as the disk is full; returns whether
    * any were removed.
    */
  def free(bytes: Long): Future[Boolean] = Future(evict(bytes, Set.empty) > 0)

  /** Removals in progress are left to the daemon. */
  def close(): Unit =
    val _ = thread.shutdownNow()

  /** Removes images that are not `excluded`; returns how many bytes are freed, or about to be. */
  @tailrec private def evict(bytes: Long, excluded: Set[String], freed: Long = 0): Long =
    known.get.find(image => image.id.isDefined && !excluded(image.reference)) match
      case Some(image) if freed < bytes && !thread.isShutdown =>
        evict(bytes, excluded + image.reference, freed + removed(image))
      case _ => freed

  /** Removes an image, and returns how many bytes that frees. An image still counts until it is known to be
    * gone.
    */
  private def removed(image: Pulled): Long =
    try
      val own = store.find(image.reference).exists(found => image.id.contains(found.id))
      val removal = if own then store.remove(image.reference) else Removal.Removed
      if removal == Removal.Removed then change(_.filterNot(_ == image))
      if removal == Removal.InUse then 0 else image.bytes
    catch
      case NonFatal(problem) =>
        log.warn("image {} cannot be removed: {}", image.reference, DockerDriver.reason(problem))
        0

  /** The outcome for an image that was being pulled. */
  private def settled(image: Pulled): Option[Pulled] =
    if image.id.isDefined then Some(image)
    else
      try store.find(image.reference).map(found => Pulled(image.reference, Some(found.id), found.bytes))
      catch
        case NonFatal(problem) =>
          log.warn("it is not known whether {} is there: {}", image.reference, DockerDriver.reason(problem))
          Some(image)

  private def record(reference: String)(add: Vector[Pulled] => Vector[Pulled]): Unit =
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

  /** Writes one list at a time, so that the newest is last. The file is on the disk before it is renamed: a
    * power failure leaves the old list or the new one.
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
  /** Without an id the image is being pulled. */
  private final case class Pulled(reference: String, id: Option[String], bytes: Long) derives Codec

private[driver] final case class StoredImage(id: String, bytes: Long)

/** Where images are stored. Calls block, and throw if the store does not answer. */
private[driver] trait ImageStore:
  def find(reference: String): Option[StoredImage]
  def remove(reference: String): Removal

private[driver] enum Removal:
  case Removed

  /** It takes longer than the call waits. */
  case InProgress

  /** Somebody uses it. */
  case InUse
