import java.io.BufferedReader;
import java.io.File;
import java.io.FileReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;

/** Reads a file with lines of api key, version, error code and the hex of a request; prints the hex of Kafka's response with the error. */
public final class ErrorResponses {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new FileReader(new File(arguments[0])));
        for (String line; (line = lines.readLine()) != null;) {
            String[] words = line.split(" ", -1);
            short version = Short.parseShort(words[1]);
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(words[3]));
            AbstractRequest request = AbstractRequest.parseRequest(
                ApiKeys.forId(Short.parseShort(words[0])), version, new ByteBufferAccessor(bytes)).request;
            ByteBuffer response = MessageUtil.toByteBufferAccessor(request.getErrorResponse(0,
                Errors.forCode(Short.parseShort(words[2])).exception()).data(), version).buffer();
            byte[] made = new byte[response.remaining()];
            response.get(made);
            System.out.println(HexFormat.of().formatHex(made));
        }
    }
}
