package burst.controller.cluster

import burst.controller.store.UncontendedLock
import burst.node.{Role, Settings}
import com.typesafe.config.ConfigFactory
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Promise}
import scala.jdk.CollectionConverters.*

class SchedulerHomeSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val Soon = 60.seconds

  test("large messages to the scheduler have their own connection"):
    val system = ClusterNode()
    try
      val settings = MembershipSettings(0.seconds, 1.hour)
      val membership = Membership.begin(Vector.empty, UncontendedLock, settings)(using system)
      Await.result(membership.joined, Soon)
      val path = Promise[String]()
      val node = Behaviors.setup[SchedulerNode.Command]: context =>
        path.trySuccess(context.self.path.toStringWithoutAddress)
        Behaviors.receiveMessage(_ => Behaviors.stopped)
      SchedulerHome.of(node)(using system)
      val config = Settings.load(ConfigFactory.empty(), Role.Controller).config
      val large = config.getStringList("pekko.remote.artery.large-message-destinations")
      assertEquals(large.asScala.toVector, Vector(Await.result(path.future, Soon)))
    finally
      system.terminate()
      Await.ready(system.whenTerminated, Soon)
