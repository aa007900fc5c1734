package burst.invoker.driver
package sandbox

import scala.concurrent.duration.FiniteDuration

/** Why a launcher has not done what it was told to. */
private[driver] enum LauncherProblem extends NetworkProblem:
  case Refused(said: String)
  case Silent(within: FiniteDuration)
  case Unheard(why: String)

  def sentence: String = this match
    case Refused(said) => said
    case Silent(within) => s"its launcher has not answered within $within"
    case Unheard(why) => s"its launcher does not answer: $why"
