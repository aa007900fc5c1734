import com.typesafe.config.ConfigFactory;
import java.util.concurrent.CompletionStage;
import org.apache.pekko.actor.ActorSystem;
import org.apache.pekko.http.javadsl.Http;
import org.apache.pekko.http.javadsl.model.HttpRequest;
import org.apache.pekko.http.javadsl.model.HttpResponse;
import org.apache.pekko.japi.function.Function;

/** A server that reads each request's body and responds with {}, to measure what HTTP alone costs on this machine. */
public class Bare {
  public static void main(String[] arguments) throws Exception {
    var system = ActorSystem.create("bare", ConfigFactory.defaultReference());
    Function<HttpRequest, CompletionStage<HttpResponse>> answer =
        request ->
            request
                .entity()
                .toStrict(1000, system)
                .thenApply(body -> HttpResponse.create().withEntity("{}"));
    var bound =
        Http.get(system).newServerAt("127.0.0.1", 0).bind(answer).toCompletableFuture().get();
    System.out.println(bound.localAddress().getPort());
  }
}
