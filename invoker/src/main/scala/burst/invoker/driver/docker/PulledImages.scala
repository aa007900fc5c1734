package burst.invoker.driver
package docker

import io.circe.syntax.*
import io.circe.{parser, Codec}
import java.io.IOException
import java.nio.file.{Files, NoSuchFileException, Path, StandardCopyOption}
import org.slf4j.LoggerFactory

/** The images that this invoker had pulled, and no other's. When they have more than `most` bytes together
  * those go that were wanted longest ago. One that a container has stays: `remove` says whether it is gone.
  *
  * They are noted in `file` for the invoker's next life. Calls block.
  */
private[driver] final class PulledImages(file: Path, most: Long, remove: String => Boolean):
  import PulledImages.*

  private val log = LoggerFactory.getLogger(classOf[PulledImages])

  /** Whichever was wanted last is last. */
  private var known = read()

  /** One that has been pulled, which is wanted more than all others. */
  def add(reference: String, bytes: Long): Unit = synchronized:
    val others = known.filterNot(_.reference == reference)
    val over = others.map(_.bytes).sum + bytes - most
    known = without(over, others) :+ Pulled(reference, bytes)
    write()

  /** One that is used again, whoever had it pulled. */
  def want(reference: String): Unit = synchronized:
    val (wanted, others) = known.partition(_.reference == reference)
    known = others ++ wanted

  /** One that was pulled for nothing. */
  def drop(reference: String): Unit = synchronized:
    val (unwanted, others) = known.partition(_.reference == reference)
    known = others ++ unwanted.filterNot(it => remove(it.reference))
    write()

  private def without(over: Long, images: Vector[Pulled]): Vector[Pulled] =
    val (_, kept) = images.foldLeft((over, Vector.empty[Pulled])): (state, image) =>
      val (left, kept) = state
      if left > 0 && remove(image.reference) then (left - image.bytes, kept) else (left, kept :+ image)
    kept

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

  private def write(): Unit =
    try
      Files.createDirectories(file.getParent)
      val fresh = Files.writeString(file.resolveSibling(s"${file.getFileName}.new"), known.asJson.noSpaces)
      val _ = Files.move(fresh, file, StandardCopyOption.ATOMIC_MOVE)
    catch
      case problem: IOException =>
        log.warn("which images were pulled cannot be noted in {}: {}", file, problem.getMessage)

private[driver] object PulledImages:
  private final case class Pulled(reference: String, bytes: Long) derives Codec
