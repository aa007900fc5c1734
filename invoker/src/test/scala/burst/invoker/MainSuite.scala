package burst.invoker

import munit.FunSuite
import org.apache.pekko.actor.testkit.typed.scaladsl.ActorTestKit
import org.apache.pekko.actor.typed.ActorSystem
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.duration.DurationInt
import scala.concurrent.{Await, Future, Promise}

class MainSuite extends FunSuite:
  override def munitTimeout = 3.minutes
  test("the wait for the end is limited"):
    Await.result(Main.atMost(20.millis, Future.never), 60.seconds)
    Await.result(Main.atMost(1.hour, Future.unit), 60.seconds)

  test("a part that crashes is reported by its name"):
    val kit = ActorTestKit()
    try
      given ActorSystem[?] = kit.system
      val dies = Behaviors.receiveMessage[String](_ => throw IllegalStateException("a defect"))
      val part = kit.spawn(dies, "the-part")
      val reported = Promise[String]()
      Main.watchPart(part)(reported.success(_): Unit)
      part ! "go"
      val reason = Await.result(reported.future, 60.seconds)
      assert(reason.startsWith("the-part died"), reason)
    finally kit.shutdownTestKit()
