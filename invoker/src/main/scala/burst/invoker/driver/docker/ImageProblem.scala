package burst.invoker.driver
package docker

import scala.concurrent.duration.FiniteDuration

/** Why there is no image of a user's own. */
private[driver] enum ImageProblem:
  /** Names begin in one of these ways. */
  case NotAllowed(beginnings: Vector[String])
  case TooLarge(mebibytes: Long, most: Long)
  case TooManyVolumes(most: Int)

  /** Of one that was given up while it came, of which no more is known. */
  case TooLargeToPull(mebibytes: Long, layers: Int)
  case TooSlow(within: FiniteDuration)
  case DiskFull(said: String)
  case Vanished

  /** The daemon did not do what was asked of it. */
  case Refused(said: String)

  /** After "The image 'a/b' cannot be run". */
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

  /** Why a pull failed, by the words of the daemon: it has no code for it. */
  def ofPull(said: String): ImageProblem =
    val short = said.take(MostSaid)
    if said.contains("no space left on device") then DiskFull(short) else Refused(short)
