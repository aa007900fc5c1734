package burst.controller.cluster

import com.typesafe.config.{Config, ConfigFactory}
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors

/** A node in this JVM that may become a member of a cluster, on a free port. */
object ClusterNode:
  def apply(more: Config => Config = identity): ActorSystem[Nothing] =
    val config = ConfigFactory.parseString("""pekko {
        actor.provider = cluster
        remote.artery.canonical { hostname = "127.0.0.1", port = 0 }
        cluster.jmx.enabled = off
        coordinated-shutdown.exit-jvm = off
        loglevel = ERROR
        stdout-loglevel = OFF
      }""")
    ActorSystem[Nothing](Behaviors.empty[Nothing], "burst", more(config.withFallback(ConfigFactory.load())))
