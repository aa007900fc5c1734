package burst.controller.store

import com.typesafe.config.Config
import java.nio.file.Path
import scala.concurrent.duration.FiniteDuration
import scala.jdk.DurationConverters.*

/** `burst.store` of the configuration. */
final case class StoreSettings(
    directory: Path,
    readConnections: Int,
    busyTimeout: FiniteDuration,
    logLimit: Long,
    phaseLimit: Long,
    retention: Retention
)

/** How many ended flares are kept, for how long, and how eagerly the rest is deleted. */
final case class Retention(flares: Int, age: FiniteDuration, interval: FiniteDuration, batch: Int)

object StoreSettings:
  /** Path of the dispatcher for calls that block. */
  val Dispatcher = "burst.store.dispatcher"

  def from(config: Config): StoreSettings =
    val store = config.getConfig("burst.store")
    val retention = store.getConfig("retention")
    StoreSettings(
      Path.of(store.getString("directory")),
      store.getInt("read-connections"),
      store.getDuration("busy-timeout").toScala,
      store.getBytes("log-limit"),
      store.getLong("phase-limit"),
      Retention(
        retention.getInt("flares"),
        retention.getDuration("age").toScala,
        retention.getDuration("interval").toScala,
        retention.getInt("batch")
      )
    )
