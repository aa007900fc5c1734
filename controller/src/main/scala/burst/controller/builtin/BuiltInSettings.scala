package burst.controller.builtin

import com.typesafe.config.Config
import scala.concurrent.duration.FiniteDuration
import scala.jdk.DurationConverters.*

/** What the built-in actions need to know about this platform.
  *
  * @param publicUrl
  *   where clients reach it
  * @param alarmInterval
  *   how often a controller looks for alarms that are due
  */
final case class BuiltInSettings(publicUrl: PublicUrl, alarmInterval: FiniteDuration)

object BuiltInSettings:
  def from(config: Config): BuiltInSettings =
    BuiltInSettings(PublicUrl.of(config), config.getDuration("burst.alarms.interval").toScala)
