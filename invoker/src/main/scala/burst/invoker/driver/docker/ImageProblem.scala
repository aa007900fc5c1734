package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

/** Why an image of a user's own cannot be used. */
private[driver] enum ImageProblem:
  /** Names must begin in one of these ways. */
  case NotAllowed(beginnings: Vector[String])
  case TooLarge(mebibytes: Long, most: Long)
  case TooManyVolumes(most: Int)

  /** The pull was cancelled: no more is known about the image's size. */
  case TooLargeToPull(mebibytes: Long, layers: Int)
  case TooSlow(within: FiniteDuration)
  case DiskFull(said: String)
  case Vanished

  /** The daemon rejected a request. */
  case Refused(said: String)

  /** Follows "The image 'a/b' cannot be run". */
  def sentence: String = this match
    case NotAllowed(beginnings) => s"images here begin with ${beginnings.mkString("'", "', '", "'")}"
    case TooLarge(mebibytes, most) => s"it has $mebibytes MiB, more than the $most of this platform"
    case TooManyVolumes(most) => s"it has more than $most volumes"
    case TooLargeToPull(mebibytes, layers) =>
      s"it has more than $mebibytes MiB, or more than $layers layers"
    case TooSlow(within) => s"it could not be pulled within $within"
    case DiskFull(said) => said
    case Vanished => "it was pulled, and is not there"
    case Refused(said) => said

private[driver] object ImageProblem:
  private val MostSaid = 500

  /** The cause of a failed pull, by the daemon's message: it has no error code for it. */
  def ofPull(said: String): ImageProblem =
    val short = said.take(MostSaid)
    if said.contains("no space left on device") then DiskFull(short) else Refused(short)
