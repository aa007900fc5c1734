package burst.controller.cluster

import burst.protocol.InvokerId
import burst.protocol.link.{Hello, SessionEndpoint, ToLink}
import com.typesafe.config.ConfigFactory
import org.apache.pekko.actor.AllDeadLetters
import org.apache.pekko.actor.testkit.typed.scaladsl.{FishingOutcomes, TestProbe}
import org.apache.pekko.actor.typed.eventstream.EventStream
import org.apache.pekko.actor.typed.scaladsl.Behaviors
import scala.concurrent.Await
import scala.concurrent.duration.DurationInt

class SessionEndpointSuite extends munit.FunSuite:
  override def munitTimeout = 3.minutes
  private val Soon = 20.seconds

  /** Nodes send each other short names for their actors at this interval, otherwise every minute. */
  private val names =
    ConfigFactory.parseString(
      "pekko.remote.artery.advanced.compression.actor-refs.advertisement-interval = 50ms"
    )
  private val ManyNames = 2.seconds

  test("a Hello sent before the endpoint exists does not prevent later ones from being heard"):
    val controller = ClusterNode(names.withFallback(_))
    val machine = ClusterNode(names.withFallback(_))
    try
      val lost = TestProbe[AllDeadLetters]()(using controller)
      controller.eventStream ! EventStream.Subscribe(lost.ref)
      val endpoint = SessionEndpoint.at(controller.address.toString)(using machine)
      val invoker = TestProbe[ToLink]()(using machine)
      def hello(tries: Long) = endpoint ! Hello.own(InvokerId("i"), tries, invoker.ref, "own")
      hello(tries = 1)
      lost.fishForMessage(Soon): lost =>
        if lost.message.isInstanceOf[Hello] then FishingOutcomes.complete
        else FishingOutcomes.continueAndIgnore
      val heard = TestProbe[Hello]()(using controller)
      controller.systemActorOf(
        Behaviors.receiveMessage[Hello] { hello =>
          heard.ref ! hello
          Behaviors.same
        },
        SessionEndpoint.Name
      )
      val end = ManyNames.fromNow
      var tries = 1L
      while end.hasTimeLeft() do
        tries += 1
        hello(tries)
        assertEquals(heard.receiveMessage(Soon).tries, tries)
    finally
      Seq(controller, machine).foreach(_.terminate())
      Seq(controller, machine).foreach(node => Await.ready(node.whenTerminated, Soon))
