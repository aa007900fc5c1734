package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

/** Why an image of a user's own cannot be used. */
private[driver] enum ImageProblem:
  /** Names must begin in one of these ways. */
  case NotAllowed(prefixes: Vector[String])
  case TooLarge(mebibytes: Long, most: Long)
  case TooManyVolumes(most: Int)

  /** The pull was cancelled: no more is known about the image's size. */
  case TooLargeToPull(mebibytes: Long, layers: Int)
  case TooSlow(within: FiniteDuration)
  case DiskFull(message: String)
  case Missing

  /** The daemon rejected a request. */
  case Refused(message: String)

  /** Follows "The image 'a/b' cannot be run". */
  def sentence: String = this match
    case NotAllowed(prefixes) => s"images here begin with ${prefixes.mkString("'", "', '", "'")}"
    case TooLarge(mebibytes, most) => s"it has $mebibytes MiB, more than the $most of this platform"
    case TooManyVolumes(most) => s"it has more than $most volumes"
    case TooLargeToPull(mebibytes, layers) =>
      s"it has more than $mebibytes MiB, or more than $layers layers"
    case TooSlow(within) => s"it could not be pulled within $within"
    case DiskFull(message) => message
    case Missing => "it was pulled, and is not there"
    case Refused(message) => message

private[driver] object ImageProblem:
  private val MessageLimit = 500

  /** The cause of a failed pull, by the daemon's message: it has no error code for it. */
  def ofPull(message: String): ImageProblem =
    val short = message.take(MessageLimit)
    if message.contains("no space left on device") then DiskFull(short) else Refused(short)
